import type { Pipeline } from '@flywheel/api';
import { toDecimal } from '@flywheel/sdk';
import { pipelineSize } from './pipeline-size.ts';
import type { AirdropRow } from './read-csv.ts';

export interface PackOptions {
  readonly type: string;
  readonly decimals: number;
  /** What each pipeline proves: the file, by its name and hash; the lines are added. */
  readonly source: Readonly<Record<string, string>>;
}

/** Rows to as few pipelines as hold them, in order. Each one’s payload names the file and its lines. */
export function packRows(rows: readonly AirdropRow[], { type, decimals, source }: PackOptions): Pipeline[] {
  const groups: AirdropRow[][] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    const fits =
      last &&
      pipelineSize(
        type,
        [...last, row].map((member) => actionOf(member, decimals)),
      ).share <= 1;
    if (fits) last.push(row);
    else groups.push([row]);
  }
  return groups.map((group) => ({
    type,
    payload: JSON.stringify({ ...source, lines: group.map(({ line }) => line) }),
    actions: group.map((row) => actionOf(row, decimals)),
  }));
}

function actionOf({ address, baseUnits }: AirdropRow, decimals: number) {
  return { action: 'AIRDROP' as const, toAddress: address, amount: Number(toDecimal(baseUnits, decimals)) };
}
