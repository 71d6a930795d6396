/** Results of a benchmark: rows of a table, with the unit in each name. */
export interface Figures {
  readonly title: string;
  readonly note: string;
  readonly rows: readonly (readonly [name: string, value: string])[];
  /** More than names and values, e.g. a wide table, in Markdown. */
  readonly details?: string;
}

export function printFigures({ title, note, rows, details }: Figures): void {
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
  process.stdout.write(`\n${title}\n${lines.join('\n')}\n  ${note}\n${details === undefined ? '' : `\n${details}\n`}`);
}

/**
 * Computes the value below which the given share of the sample lies (nearest rank).
 * @throws Error if a measurement is missing, which would count as the largest one.
 */
export function percentile(sample: readonly (number | undefined)[], share: number): number {
  const measured = sample.flatMap((value) => (Number.isFinite(value) ? [Number(value)] : [])).sort((a, b) => a - b);
  const value = measured[Math.min(measured.length - 1, Math.ceil(share * measured.length) - 1)];
  if (value === undefined || measured.length < sample.length) {
    throw new Error(`A percentile needs measurements: ${measured.length} of ${sample.length} are there.`);
  }
  return value;
}

export async function timeMs(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export function ms(value: number): string {
  return `${value.toFixed(2)} ms`;
}

export function percent(part: number, whole: number): string {
  return `${((100 * part) / whole).toFixed(0)} %`;
}

/** Writes a figure with three digits, since no figure is more exact. */
export function significant(value: number): string {
  return Math.abs(value) >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
