import type { Ledger } from '../ledger/ledger.ts';
import type { Commitment } from '../ledger/slots.ts';
import { MIN_CONTEXT_SLOT_NOT_REACHED, RpcError } from '../rpc/rpc-error.ts';
import { SOLANA_CORE_VERSION } from '../rpc/version.ts';

export interface ContextConfig {
  readonly commitment: Commitment;
  readonly minContextSlot?: bigint | undefined;
}

/** Puts a value beside the slot it speaks of. Throws when the caller asked for a later one. */
export function withContext<T>(ledger: Ledger, config: ContextConfig, value: T) {
  checkContextSlot(ledger, config);
  return { context: { apiVersion: SOLANA_CORE_VERSION, slot: ledger.slots.at(config.commitment) }, value };
}

export function checkContextSlot({ slots }: Ledger, { commitment, minContextSlot = 0n }: ContextConfig): void {
  const contextSlot = slots.at(commitment);
  if (contextSlot < minContextSlot) {
    throw new RpcError(MIN_CONTEXT_SLOT_NOT_REACHED, 'Minimum context slot has not been reached', { contextSlot });
  }
}
