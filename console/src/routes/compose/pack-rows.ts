import type { Pipeline } from '@flywheel/api';
import { packActions, toDecimal } from '@flywheel/sdk';
import type { AirdropRow } from './read-csv.ts';

export interface PackOptions {
  readonly type: string;
  readonly decimals: number;
  /** What each pipeline proves: the file, by its name and hash; the lines are added. */
  readonly source: Readonly<Record<string, string>>;
}

/** Rows to as few pipelines as hold them, in order. Each one’s payload names the file and its lines. */
export function packRows(rows: readonly AirdropRow[], { type, decimals, source }: PackOptions): Pipeline[] {
  return packActions(rows, {
    type,
    actionsOf: (row) => [actionOf(row, decimals)],
    payloadOf: (group) => ({ ...source, lines: group.map(({ line }) => line) }),
  });
}

function actionOf({ address, baseUnits }: AirdropRow, decimals: number) {
  return { action: 'AIRDROP' as const, toAddress: address, amount: Number(toDecimal(baseUnits, decimals)) };
}
