import { decimalOf } from '@flywheel/sdk';
import { textOfUnits, unitsOf } from '../../lib/text/units.ts';
import type { ShownAction } from './pipelines/shown-action.ts';

export interface Totals {
  /** Whole tokens, decimal. */
  readonly burned: string;
  readonly airdropped: string;
  readonly counts: { readonly burns: number; readonly airdrops: number; readonly memos: number };
}

/** What pipelines burn and airdrop together, exactly. */
export function totalsOf(pipelines: readonly { readonly actions: readonly ShownAction[] }[]): Totals {
  let [burned, airdropped, burns, airdrops, memos] = [0n, 0n, 0, 0, 0];
  for (const action of pipelines.flatMap(({ actions }) => actions)) {
    if (action.action === 'BURN') {
      burned += unitsOf(decimalOf(action.amount));
      burns += 1;
    } else if (action.action === 'AIRDROP') {
      airdropped += unitsOf(decimalOf(action.amount));
      airdrops += 1;
    } else if (action.action === 'MEMO') memos += 1;
  }
  return {
    burned: textOfUnits(burned),
    airdropped: textOfUnits(airdropped),
    counts: { burns, airdrops, memos },
  };
}
