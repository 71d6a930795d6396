import type { WriteStream } from 'node:tty';
import { stripVTControlCharacters, styleText } from 'node:util';
import { type Display, formatDuration, type Step } from './progress.ts';
import { drawRing, RING_COLUMNS, type RingCell } from './ring.ts';

const FRAME_MS = 80;
const SPINNER = ['◜', '◝', '◞', '◟'];
/** How far the ring moves towards its goal in a frame, so that it glides. */
const EASING = 0.25;
/** A running step counts for a part of itself. */
const RUNNING_SHARE = 0.4;
/** Below this the ring has no room beside the steps. */
const MIN_COLUMNS_FOR_RING = 64;
const GUTTER = '  ';
/** Room for `999.9 s`, set apart by two spaces. */
const DURATION_WIDTH = 9;
const HIDE_CURSOR = '\u001B[?25l';
const SHOW_CURSOR = '\u001B[?25h';
const CLEAR_BELOW = '\u001B[J';

/** The ring and the steps beside it, redrawn in place. */
export function createLiveDisplay(stream: WriteStream): Display {
  let shown: readonly Step[] = [];
  let shownFraction = 0;
  let frame = 0;
  let drawnLines = 0;
  let timer: NodeJS.Timeout | null = null;

  function draw(fraction: number): void {
    const lines = paint(stream, shown, fraction, frame);
    const up = drawnLines > 0 ? `\u001B[${drawnLines}A\r` : '';
    stream.write(`${up}${CLEAR_BELOW}${lines.join('\n')}\n`);
    drawnLines = lines.length;
  }

  function tick(): void {
    frame += 1;
    shownFraction += (fractionOf(shown) - shownFraction) * EASING;
    draw(shownFraction);
  }

  return {
    update: (steps) => {
      shown = [...steps];
      if (timer === null) {
        stream.write(HIDE_CURSOR);
        timer = setInterval(tick, FRAME_MS);
        draw(shownFraction);
      }
    },
    close: (steps) => {
      if (timer === null) return;
      clearInterval(timer);
      timer = null;
      shown = [...steps];
      draw(fractionOf(shown));
      stream.write(SHOW_CURSOR);
    },
  };
}

function fractionOf(steps: readonly Step[]): number {
  const shares: number[] = steps.map(({ state }) => (state === 'done' ? 1 : state === 'running' ? RUNNING_SHARE : 0));
  return shares.reduce((sum, share) => sum + share, 0) / Math.max(steps.length, 1);
}

function paint(stream: WriteStream, steps: readonly Step[], fraction: number, frame: number): string[] {
  const hasFailed = steps.some(({ state }) => state === 'failed');
  const ring = drawRing(fraction).map((cells) => paintRow(stream, cells, fraction, hasFailed));
  const labelWidth = Math.max(...steps.map(({ label }) => label.length));
  const list = steps.map((step) => paintStep(stream, step, labelWidth, frame));
  const withRing = stream.columns >= MIN_COLUMNS_FOR_RING;
  if (!withRing) return list.map((line) => cut(line, stream.columns));

  const height = Math.max(ring.length, list.length);
  const ringTop = Math.floor((height - ring.length) / 2);
  const listTop = Math.floor((height - list.length) / 2);
  return Array.from({ length: height }, (_, row) => {
    const left = ring[row - ringTop] ?? ' '.repeat(RING_COLUMNS);
    return cut(`${GUTTER}${left}${GUTTER}${GUTTER}${list[row - listTop] ?? ''}`, stream.columns);
  });
}

function paintRow(stream: WriteStream, cells: readonly RingCell[], fraction: number, hasFailed: boolean): string {
  const arcColor = hasFailed ? 'red' : fraction >= 1 ? 'green' : 'cyan';
  return cells
    .map(({ character, layer }) =>
      layer === 'empty' ? ' ' : styleText(layer === 'arc' ? arcColor : 'gray', character, { stream }),
    )
    .join('');
}

function paintStep(stream: WriteStream, step: Step, labelWidth: number, frame: number): string {
  const label = step.label.padEnd(labelWidth);
  const detail = step.detail === '' ? '' : styleText('dim', `  ${step.detail}`, { stream });
  switch (step.state) {
    case 'waiting':
      return styleText('dim', `○ ${label}`, { stream });
    case 'running': {
      const spinner = styleText('cyan', SPINNER[frame % SPINNER.length] ?? '', { stream });
      return `${spinner} ${label}${paintDuration(stream, Date.now() - step.startedAtMs)}${detail}`;
    }
    case 'done': {
      const mark = styleText('green', '●', { stream });
      return `${mark} ${label}${paintDuration(stream, step.endedAtMs - step.startedAtMs)}${detail}`;
    }
    case 'failed':
      return `${styleText('red', '✗', { stream })} ${label}${detail}`;
    default:
      return step.state satisfies never;
  }
}

function paintDuration(stream: WriteStream, durationMs: number): string {
  return styleText('dim', formatDuration(durationMs).padStart(DURATION_WIDTH), { stream });
}

/** Cuts a line to the terminal’s width: a wrapped line would break the redrawing. */
function cut(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line);
  return plain.length < columns ? line : plain.slice(0, columns - 1);
}
