import { MAX_INSTRUCTION_TRACE_LENGTH, maxRentLamports } from './runtime.ts';

/**
 * Bytes of a pipeline's serialized vault message: what one version 0 transaction holds that carries a single
 * `batchAddTransaction`, the project's lookup table, and a compute limit and price. It is the same on every cluster,
 * whatever transaction versions the cluster takes.
 */
export const MAX_PIPELINE_BYTES = 856;

/** Lamports that a vault must hold at least, unless it holds none: the rent of a system account without data. */
export const MIN_VAULT_LAMPORTS = /* @__PURE__ */ maxRentLamports(0);

/** Instructions that one pipeline may run, inner ones included: it is executed in one transaction. */
export const MAX_PIPELINE_INSTRUCTIONS = MAX_INSTRUCTION_TRACE_LENGTH;

/**
 * Counts the instructions that a pipeline may run, inner ones included. It assumes that every recipient's token account
 * must be created in the longest way.
 */
export function countPipelineInstructions(
  actions: readonly { readonly action: string; readonly toAddress?: string }[],
): number {
  const recipients = new Set(actions.flatMap(({ toAddress }) => (toAddress === undefined ? [] : [toAddress])));
  const own = actions.reduce((sum, { toAddress }) => sum + (toAddress === undefined ? 1 : PER_TRANSFER), 0);
  return BEFORE_ACTIONS + own + LONGEST_CREATION_TRACE_LENGTH * recipients.size;
}

/** A compute limit, a compute price, a heap frame, a tip and `batchExecuteTransaction`; inside it the proof memo. */
const BEFORE_ACTIONS = 6;
/** The creation of the token account and the transfer. */
const PER_TRANSFER = 2;
/**
 * Instructions inside the creation of an associated token account (spl-associated-token-account): GetAccountDataSize;
 * system CreateAccount; InitializeImmutableOwner; InitializeAccount3.
 */
export const CREATION_TRACE_LENGTH = 4;
/** The same if the address already has lamports: Transfer, Allocate and Assign take the place of CreateAccount. */
const LONGEST_CREATION_TRACE_LENGTH = CREATION_TRACE_LENGTH + 2;
