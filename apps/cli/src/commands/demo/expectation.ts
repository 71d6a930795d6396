import type { Pipeline } from '@flywheel/api';
import { proofMemo } from '@flywheel/sdk';
import { parseAmount } from '../../amount.ts';

/** What pipelines must do to a chain, worked out from the request alone. */
export interface ExpectedEffects {
  readonly decimals: number;
  readonly burnedBaseUnits: bigint;
  /** Base units by recipient. */
  readonly airdrops: ReadonlyMap<string, bigint>;
  readonly airdroppedBaseUnits: bigint;
  /** In the order of the pipelines. */
  readonly proofs: readonly ExpectedProof[];
}

export interface ExpectedProof {
  readonly type: string;
  readonly payload: string;
  /** The proof memo, recomputed from type and payload. */
  readonly memo: string;
  /** The texts of the pipeline’s own memos. */
  readonly messages: readonly string[];
}

/** Adds up burns and airdrops and recomputes every proof memo. */
export async function expectEffects(pipelines: readonly Pipeline[], decimals: number): Promise<ExpectedEffects> {
  let burnedBaseUnits = 0n;
  let airdroppedBaseUnits = 0n;
  const airdrops = new Map<string, bigint>();
  for (const action of pipelines.flatMap(({ actions }) => actions)) {
    if (action.action === 'MEMO') continue;
    const amountBaseUnits = parseAmount(String(action.amount), decimals);
    if (action.action === 'BURN') {
      burnedBaseUnits += amountBaseUnits;
    } else {
      airdroppedBaseUnits += amountBaseUnits;
      airdrops.set(action.toAddress, (airdrops.get(action.toAddress) ?? 0n) + amountBaseUnits);
    }
  }
  return {
    decimals,
    burnedBaseUnits,
    airdroppedBaseUnits,
    airdrops,
    proofs: await Promise.all(pipelines.map(expectProof)),
  };
}

async function expectProof({ type, payload, actions }: Pipeline): Promise<ExpectedProof> {
  return {
    type,
    payload,
    memo: await proofMemo({ type, payload }),
    messages: actions.flatMap((action) => (action.action === 'MEMO' ? [action.message] : [])),
  };
}
