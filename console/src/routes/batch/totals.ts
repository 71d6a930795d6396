import { decimalOf, toBaseUnits, toDecimal } from '@flywheel/sdk';
import type { ShownAction } from './pipelines/shown-action.ts';

export interface Totals {
  /** Whole tokens, decimal. */
  readonly burned: string;
  readonly airdropped: string;
  readonly counts: { readonly burns: number; readonly airdrops: number; readonly memos: number };
}

/** One more than any amount of the wire has. */
const FINEST_DECIMALS = 20;

/** What pipelines burn and airdrop together, exactly. */
export function totalsOf(pipelines: readonly { readonly actions: readonly ShownAction[] }[]): Totals {
  let [burned, airdropped, burns, airdrops, memos] = [0n, 0n, 0, 0, 0];
  for (const action of pipelines.flatMap(({ actions }) => actions)) {
    if (action.action === 'BURN') {
      burned += unitsOf(action.amount);
      burns += 1;
    } else if (action.action === 'AIRDROP') {
      airdropped += unitsOf(action.amount);
      airdrops += 1;
    } else if (action.action === 'MEMO') memos += 1;
  }
  return {
    burned: toDecimal(burned, FINEST_DECIMALS),
    airdropped: toDecimal(airdropped, FINEST_DECIMALS),
    counts: { burns, airdrops, memos },
  };
}

function unitsOf(amountTokens: number): bigint {
  const units = toBaseUnits(decimalOf(amountTokens), FINEST_DECIMALS);
  if (units === null) throw new Error(`${amountTokens} has more than ${FINEST_DECIMALS} fraction digits.`);
  return units;
}
