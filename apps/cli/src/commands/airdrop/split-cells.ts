/** The cells of one line of CSV (RFC 4180), trimmed; quoted cells hold no line breaks. */
export function splitCells(line: string): string[] {
  return Array.from(line.matchAll(CELL), ([, quoted, plain = '']) =>
    (quoted === undefined ? plain : quoted.replaceAll('""', '"')).trim(),
  );
}

/** A cell after the line’s beginning or a comma: in quotes, where two stand for one, or up to the next comma. */
const CELL = /(?<=^|,)(?:\s*"((?:[^"]|"")*)"\s*|([^,]*))(?=,|$)/g;

/** One line of CSV, ended. */
export function joinCells(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\n`;
}
