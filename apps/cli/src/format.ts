import type { Writable } from 'node:stream';
import { styleText } from 'node:util';

/** Lines of a table, the headings dimmed, each column as wide as its widest cell. One line a row, in order. */
export function layOutTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  stream: Writable,
): { readonly heading: string; readonly lines: readonly string[] } {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return { heading: styleText('dim', line(headings), { stream }), lines: rows.map(line) };
}

/** Lines of `  name  value`, the names dimmed and aligned. */
export function layOutPairs(pairs: readonly (readonly [name: string, value: string])[], stream: Writable): string[] {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, value]) => `  ${styleText('dim', name.padEnd(width), { stream })}  ${value}`);
}
