import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg, release, totalmem } from 'node:os';
import type { Figures } from './figures.ts';

const FILE = new URL('results.md', import.meta.url);
const HEAD = `# Results

What \`npm run bench -- --record\` has measured; a part that was not measured again keeps its figures. Machines are noisy: compare the
ratios of one part, not figures of two parts or machines. The load is the number of processes that were running or waiting, in the
minute before the part began.
`;

/** The machine and the code at the start of a measurement, in one line. */
export function describeMachine(): string {
  const [processor] = cpus();
  const gib = (totalmem() / 2 ** 30).toFixed(0);
  const commit = git('rev-parse', '--short', 'HEAD');
  const changed = git('status', '--porcelain', '--', 'apps', 'packages', 'bench/*.ts') === '' ? '' : ', with changes';
  return [
    new Date().toISOString().slice(0, 10),
    `commit ${commit}${changed}`,
    `${cpus().length} cores of ${processor?.model.trim() ?? 'an unknown processor'}, ${gib} GiB`,
    `Linux ${release().split('-')[0]}`,
    `Node ${process.versions.node}`,
    `load ${loadavg()[0]?.toFixed(1)}`,
  ].join('; ');
}

/** Writes the figures of a part to `bench/results.md`, in the place of its earlier ones. */
export async function record(part: string, machine: string, figures: Figures): Promise<void> {
  const text = await readFile(FILE, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return HEAD;
    throw error;
  });
  await writeFile(FILE, replacePart(text, part, renderPart(part, machine, figures)));
}

function renderPart(part: string, machine: string, { title, note, rows, details = '' }: Figures): string {
  const table = rows.map(([name, value]) => `| ${name} | ${value} |`).join('\n');
  return `## ${part}\n\n${capitalize(title)}. ${machine}.\n\n| figure | value |\n|---|---|\n${table}\n\n${capitalize(note)}\n\n${details}`;
}

/** Reads the section of a part. @throws Error if it was not recorded. */
export async function readPart(part: string): Promise<string> {
  const sections = (await readFile(FILE, 'utf8')).split(/^(?=## )/m);
  const section = sections.find((each) => each.startsWith(`## ${part}\n`));
  if (section === undefined) throw new Error(`bench/results.md has no part ${part}: npm run bench -- --record ${part}`);
  return section;
}

/** Replaces the section of a part, or appends it. */
export function replacePart(text: string, part: string, section: string): string {
  const [head = '', ...sections] = text.split(/^(?=## )/m);
  const isOf = (each: string) => each.startsWith(`## ${part}\n`);
  const next = sections.some(isOf) ? sections.map((each) => (isOf(each) ? section : each)) : [...sections, section];
  return [head, ...next].map((each) => `${each.trimEnd()}\n`).join('\n');
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function git(...words: readonly string[]): string {
  return execFileSync('git', words, { cwd: new URL('..', import.meta.url), encoding: 'utf8' }).trim();
}
