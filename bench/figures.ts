/** Results of a benchmark: rows of a table, with the unit in each name. */
export interface Figures {
  readonly title: string;
  readonly note: string;
  readonly rows: readonly (readonly [name: string, value: string])[];
}

export function printFigures({ title, note, rows }: Figures): void {
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
  process.stdout.write(`\n${title}\n${lines.join('\n')}\n  ${note}\n`);
}

/** Computes the value below which the given share of the sample lies (nearest rank). */
export function percentile(sample: readonly number[], share: number): number {
  const sorted = [...sample].sort((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
  if (value === undefined) throw new Error('An empty sample has no percentiles.');
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
