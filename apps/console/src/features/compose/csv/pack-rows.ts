import type { Pipeline } from '@flywheel/api';
import { airdrop, packActions, type SizeToken, toDecimal } from '@flywheel/sdk';
import type { AirdropRow } from './read-csv.ts';

export interface PackRowsOptions {
  readonly type: string;
  readonly decimals: number;
  /** What each pipeline proves: the file, by its name and hash; the lines are added. */
  readonly source: Readonly<Record<string, string>>;
  readonly token: SizeToken;
}

/** Rows to as few pipelines as hold them, in order. Each one’s payload names the file and its lines. */
export function packRows(rows: readonly AirdropRow[], { type, decimals, source, token }: PackRowsOptions): Pipeline[] {
  return packActions(rows, {
    type,
    token,
    actionsOf: ({ address, baseUnits }) => [airdrop(address, toDecimal(baseUnits, decimals))],
    payloadOf: (packed) => ({ ...source, lines: packed.flatMap(({ lines }) => lines) }),
  });
}
