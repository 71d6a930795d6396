import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { visibleText, writeSol } from '@flywheel/protocol';

/** Lays out a table of visible text: dimmed headings, each column as wide as its widest cell, one line per row. */
export function layOutTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  stream: Writable,
): { readonly heading: string; readonly lines: readonly string[] } {
  const shown = rows.map((cells) => cells.map(visibleText));
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...shown.map((cells) => cells[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return { heading: styleText('dim', line(headings), { stream }), lines: shown.map(line) };
}

/** Lays out lines of `  name  value` as visible text; names are dimmed and aligned. */
export function layOutPairs(pairs: readonly (readonly [name: string, value: string])[], stream: Writable): string[] {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, value]) => `  ${styleText('dim', name.padEnd(width), { stream })}  ${visibleText(value)}`);
}

/** Says below a list how to read the next page of it, if there is one. */
export function describeNextPage(nextCursor: string | undefined): string[] {
  return nextCursor === undefined ? [] : [`Next page: --cursor ${nextCursor}`];
}

/** Writes lamports as `1,000.5 SOL`. */
export function formatSol(lamports: bigint | string): string {
  return writeSol(BigInt(lamports));
}

const DURATION_UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** A duration in its largest whole unit: `6 d`. */
export function roughDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  const [unit, unitSeconds] = DURATION_UNITS.find(([, size]) => seconds >= size) ?? ['s', 1];
  return `${Math.floor(seconds / unitSeconds)} ${unit}`;
}

/** Quotes a text so that a shell reads it as one word, for commands that people copy. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
