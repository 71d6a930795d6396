import { INVALID_PARAMS, MIN_CONTEXT_SLOT_NOT_REACHED, TRANSACTION_HISTORY_NOT_AVAILABLE } from '@flywheel/solana-rpc';
import { BankError } from '../bank.ts';
import type { Node } from '../ledger/node.ts';
import type { Commitment } from '../ledger/slots.ts';
import { CallError, invalidParams } from '../rpc/call-error.ts';

/** Release of Agave whose runtime LiteSVM 1.5 contains. */
export const SOLANA_CORE_VERSION = '4.3.0';

export interface ContextConfig {
  readonly commitment: Commitment;
  readonly minContextSlot?: bigint | undefined;
}

/** Returns a value with its context slot. @throws CallError if `minContextSlot` has not been reached */
export function withContext<T>(node: Pick<Node, 'slots'>, config: ContextConfig, value: T) {
  checkContextSlot(node, config);
  return { context: { apiVersion: SOLANA_CORE_VERSION, slot: node.slots.at(config.commitment) }, value };
}

export function checkContextSlot(
  { slots }: Pick<Node, 'slots'>,
  { commitment, minContextSlot = 0n }: ContextConfig,
): void {
  const contextSlot = slots.at(commitment);
  if (contextSlot < minContextSlot) {
    throw new CallError(MIN_CONTEXT_SLOT_NOT_REACHED, 'Minimum context slot has not been reached', { contextSlot });
  }
}

/** Throws the CallError of methods that read stored blocks, which are never of a bank that is still being built. */
export function requireConfirmed({ commitment }: ContextConfig): void {
  if (commitment !== 'processed') return;
  throw new CallError(INVALID_PARAMS, 'Method does not support commitment below `confirmed`');
}

/** Throws the CallError of a node that was started without a history of transactions. */
export function requireHistory({ history }: Pick<Node, 'history'>): void {
  if (history.isKept) return;
  const message = 'Transaction history is not available from this node';
  throw new CallError(TRANSACTION_HISTORY_NOT_AVAILABLE, message);
}

/** Rethrows an error of the bank as a CallError for the caller, and any other error unchanged. */
export function throwCallError(error: unknown): never {
  throw error instanceof BankError ? invalidParams(error.message) : error;
}
