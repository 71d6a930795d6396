import type { WriteStream } from 'node:tty';
import { stripVTControlCharacters, styleText } from 'node:util';
import type { Output } from './output.ts';

export interface BarState {
  /** 0 to 1. */
  readonly fraction: number;
  /** What is at hand. */
  readonly text: string;
}

export interface Bar {
  show(state: BarState): void;
  /** Leaves the last picture standing. */
  close(): void;
}

const SILENT: Bar = { show: () => undefined, close: () => undefined };

/** One bar, on stderr: redrawn in place on a terminal, else a line whenever its text changes; with `--json` neither. */
export function createBar({ json, stderr, terminal }: Output): Bar {
  if (terminal) return createLiveBar(terminal);
  if (json) return SILENT;
  let said = '';
  return {
    show: ({ text }) => {
      if (text !== said) stderr.write(`${text}\n`);
      said = text;
    },
    close: () => undefined,
  };
}

const COLUMNS = 28;
/** A cell is filled by eighths. */
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const CLEAR_LINE = '\r\u001B[2K';

function createLiveBar(stream: WriteStream): Bar {
  let isOpen = false;
  return {
    show: (state) => {
      isOpen = true;
      stream.write(`${CLEAR_LINE}${paint(stream, state)}`);
    },
    close: () => {
      if (isOpen) stream.write('\n');
      isOpen = false;
    },
  };
}

function paint(stream: WriteStream, { fraction, text }: BarState): string {
  const done = styleText(fraction >= 1 ? 'green' : 'cyan', fillOf(fraction), { stream });
  const percent = `${Math.floor(fraction * 100)}%`.padStart(4);
  const line = `${done}${percent}  ${text}`;
  const plain = stripVTControlCharacters(line);
  return plain.length < stream.columns ? line : plain.slice(0, stream.columns - 1);
}

function fillOf(fraction: number): string {
  const eighths = Math.round(Math.min(Math.max(fraction, 0), 1) * COLUMNS * EIGHTHS.length);
  const filled = `${'█'.repeat(Math.floor(eighths / EIGHTHS.length))}${EIGHTHS[eighths % EIGHTHS.length] ?? ''}`;
  return filled.padEnd(COLUMNS, '░');
}
