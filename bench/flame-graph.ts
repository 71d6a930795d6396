import type { Profiler } from 'node:inspector';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

type Profile = Profiler.Profile;

/** A function with the callers above it, and the time that it and what it calls took. */
interface Frame {
  readonly name: string;
  selfMs: number;
  totalMs: number;
  readonly children: Map<string, Frame>;
}

/** Names of frames in which the thread waits, or writes the profile itself. */
const UNCOUNTED = /^\(idle\)$|node:inspector/;
const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** Frames below this share of the busy time are left out: they are too narrow to read. */
const MIN_SHARE = 0.001;
const ROW_PX = 17;

/** Writes a page with the flame graph of a CPU profile, and below it the functions that took the most time themselves. */
export function flameGraphPage(title: string, profile: Profile): string {
  const root = frames(profile);
  const rects: string[] = [];
  const depth = draw(root, { from: 0, row: 0, whole: root.totalMs }, rects);
  return `<!doctype html><meta charset="utf-8"><title>${escapeText(title)}</title><style>
body{font:12px system-ui;margin:1rem}main{position:relative;height:${(depth + 1) * ROW_PX}px}
main div{position:absolute;height:${ROW_PX - 1}px;overflow:hidden;white-space:nowrap;font-size:11px;box-sizing:border-box;padding-left:2px}
td:first-child,td:nth-child(2){text-align:right;padding-right:1em}</style>
<h1>${escapeText(title)}</h1><p>${root.totalMs.toFixed(0)} ms busy. Point at a frame to see its time.</p><main>${rects.join('\n')}</main>
<table>${topFunctions(root)
    .map(({ name, selfMs }) => `<tr><td>${selfMs.toFixed(0)} ms<td>${share(selfMs, root)}<td>${escapeText(name)}`)
    .join('\n')}</table>`;
}

/** Lists the functions by the time that they took themselves, the most first, as lines of text. */
export function describeTop(profile: Profile, count: number): string[] {
  const root = frames(profile);
  return topFunctions(root)
    .slice(0, count)
    .map(({ name, selfMs }) => `${share(selfMs, root).padStart(7)}  ${name}`);
}

function frames({ nodes, samples = [], timeDeltas = [] }: Profile): Frame {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const root = newFrame('all');
  for (const [index, id] of samples.entries()) {
    const stack: string[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const node = byId.get(at);
      if (node && node.callFrame.functionName !== '(root)') stack.push(nameOf(node.callFrame));
    }
    if (stack.some((name) => UNCOUNTED.test(name))) continue;
    const ms = (timeDeltas[index] ?? 0) / 1_000;
    let frame = root;
    frame.totalMs += ms;
    for (const name of stack.reverse()) {
      const child = frame.children.get(name) ?? newFrame(name);
      frame.children.set(name, child);
      child.totalMs += ms;
      frame = child;
    }
    frame.selfMs += ms;
  }
  return root;
}

function newFrame(name: string): Frame {
  return { name, selfMs: 0, totalMs: 0, children: new Map() };
}

function nameOf({ functionName, url, lineNumber }: Profiler.ProfileNode['callFrame']): string {
  if (url === '') return functionName;
  const path = url.startsWith('file:') ? relative(ROOT, fileURLToPath(url)) : url;
  return `${functionName || '(anonymous)'} ${path}:${lineNumber + 1}`;
}

/** Draws a frame and those that it calls; returns the deepest row. */
function draw(frame: Frame, { from, row, whole }: { from: number; row: number; whole: number }, to: string[]): number {
  const [left, width] = [(100 * from) / whole, (100 * frame.totalMs) / whole];
  // A function has the same colour wherever it is called.
  const hue = [...frame.name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 60, 7);
  const text = escapeText(`${frame.name}, ${frame.totalMs.toFixed(1)} ms, ${width.toFixed(1)} %`);
  const place = `left:${left.toFixed(3)}%;width:${width.toFixed(3)}%;top:${row * ROW_PX}px`;
  to.push(`<div title="${text}" style="${place};background:hsl(${hue} 80% 75%)">${escapeText(frame.name)}</div>`);
  let deepest = row;
  let start = from;
  for (const child of frame.children.values()) {
    if (child.totalMs >= MIN_SHARE * whole) {
      deepest = Math.max(deepest, draw(child, { from: start, row: row + 1, whole }, to));
    }
    start += child.totalMs;
  }
  return deepest;
}

function topFunctions(root: Frame): { readonly name: string; readonly selfMs: number }[] {
  const byName = new Map<string, number>();
  const add = (frame: Frame) => {
    byName.set(frame.name, (byName.get(frame.name) ?? 0) + frame.selfMs);
    for (const child of frame.children.values()) add(child);
  };
  add(root);
  return [...byName]
    .map(([name, selfMs]) => ({ name, selfMs }))
    .sort((a, b) => b.selfMs - a.selfMs)
    .slice(0, TOP);
}

const TOP = 60;

function share(ms: number, { totalMs }: Frame): string {
  return `${((100 * ms) / totalMs).toFixed(1)} %`;
}

function escapeText(text: string): string {
  return text.replaceAll(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
