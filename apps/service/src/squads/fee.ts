import {
  getTransactionMessageComputeUnitLimit,
  getTransactionMessageComputeUnitPrice,
  getTransactionMessagePriorityFeeLamports,
  isSignerRole,
} from '@solana/kit';
import type { PlannedMessage } from './plan.ts';

/** Agave, `DEFAULT_TARGET_LAMPORTS_PER_SIGNATURE`. */
export const LAMPORTS_PER_SIGNATURE = 5_000n;

/** What a transaction costs its fee payer, landed well or badly. */
export function feeLamports(message: PlannedMessage): bigint {
  const signers = message.instructions.flatMap(({ accounts = [] }) =>
    accounts.filter(({ role }) => isSignerRole(role)).map(({ address }) => address),
  );
  const signatures = new Set([message.feePayer.address, ...signers]).size;
  return BigInt(signatures) * LAMPORTS_PER_SIGNATURE + priorityFeeOf(message);
}

const MICRO_LAMPORTS_PER_LAMPORT = 1_000_000n;

/** For all units of the limit, used or not, rounded up. */
export function priorityFeeLamports(computeUnitLimit: number, priceMicroLamports: bigint): bigint {
  return (BigInt(computeUnitLimit) * priceMicroLamports + MICRO_LAMPORTS_PER_LAMPORT - 1n) / MICRO_LAMPORTS_PER_LAMPORT;
}

/** Version 0 names a price for each unit of its limit, version 1 the whole fee. */
function priorityFeeOf(message: PlannedMessage): bigint {
  if (message.version === 1) return getTransactionMessagePriorityFeeLamports(message) ?? 0n;
  const limit = getTransactionMessageComputeUnitLimit(message) ?? 0;
  return priorityFeeLamports(limit, getTransactionMessageComputeUnitPrice(message) ?? 0n);
}
