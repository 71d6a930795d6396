import { LAMPORTS_PER_SIGNATURE, priorityFeeLamports } from '@flywheel/protocol';
import {
  getTransactionMessageComputeUnitLimit,
  getTransactionMessageComputeUnitPrice,
  getTransactionMessagePriorityFeeLamports,
  isSignerRole,
  type TransactionMessage,
  type TransactionMessageWithFeePayer,
} from '@solana/kit';

/** Version 0 has lookup tables, version 1 is larger and carries its budget itself. */
export type UnsignedMessage = Extract<TransactionMessage, { version: 0 | 1 }> & TransactionMessageWithFeePayer;

/** Lamports that a transaction costs its fee payer, whether it succeeds or fails. */
export function feeLamports(message: UnsignedMessage): bigint {
  const signers = message.instructions.flatMap(({ accounts = [] }) =>
    accounts.filter(({ role }) => isSignerRole(role)).map(({ address }) => address),
  );
  const signatures = new Set([message.feePayer.address, ...signers]).size;
  return BigInt(signatures) * LAMPORTS_PER_SIGNATURE + priorityFeeOf(message);
}

/** Version 0 names a price for each unit of its limit, version 1 the whole fee. */
function priorityFeeOf(message: UnsignedMessage): bigint {
  if (message.version === 1) return getTransactionMessagePriorityFeeLamports(message) ?? 0n;
  const limit = getTransactionMessageComputeUnitLimit(message) ?? 0;
  return priorityFeeLamports(limit, getTransactionMessageComputeUnitPrice(message) ?? 0n);
}
