import { decodeBase58, isAddress, MAX_BLOCK_TIME } from '@flywheel/protocol';
import type { TransactionCall } from '@flywheel/squads';
import { AccountRole, type Address, type Instruction } from '@solana/kit';
import { type Commitment, fieldOf, unexpectedAnswer } from './rpc.ts';

/** The method that answers what `parseTransaction` reads. */
export const GET_TRANSACTION = 'getTransaction';

/** A transaction that has landed. */
export interface ChainTransaction {
  /** Its first signature, base58. */
  readonly signature: string;
  readonly slot: number;
  /** ISO 8601; null if the node does not know it. */
  readonly executedAt: string | null;
  /** The TransactionError as JSON text; null if the transaction succeeded. */
  readonly failure: string | null;
  /** Every account, those of lookup tables at the end. */
  readonly accounts: readonly Address[];
  readonly calls: readonly ChainCall[];
  /**
   * False if the transaction succeeded and the node has not recorded what its instructions called: `inner` of `calls`
   * is then empty.
   */
  readonly hasInner: boolean;
  /** The node's further answer, for balances. */
  readonly meta: object;
}

/** An instruction of a transaction and those called below it. */
export interface ChainCall extends TransactionCall {
  readonly inner: readonly InnerInstruction[];
}

export interface InnerInstruction extends Instruction {
  /** 2 for what the transaction's own instruction calls, 3 for what that calls. Nodes older than 2023 answer none: then 2. */
  readonly stackHeight: number;
}

/**
 * Asks one node after the other for a transaction until one knows it with all that it called; null if none knows it at all.
 * @param ask sends `getTransaction` with these parameters to a node.
 * @throws the first error, if none knows it and one does not answer: that one may keep what the others have deleted.
 */
export async function findTransaction<TNode>(
  nodes: readonly TNode[],
  { signature, commitment }: { readonly signature: string; readonly commitment: Commitment },
  ask: (node: TNode, params: readonly unknown[]) => Promise<unknown>,
  signal?: AbortSignal,
): Promise<ChainTransaction | null> {
  const params = [signature, { encoding: 'json', commitment, maxSupportedTransactionVersion: LATEST_VERSION }];
  const errors: unknown[] = [];
  let partial: ChainTransaction | null = null;
  for (const node of nodes) {
    try {
      const answer = await ask(node, params);
      const transaction = answer === null ? null : parseTransaction(answer);
      const answered = transaction?.signature ?? signature;
      if (answered !== signature) throw unexpectedAnswer(GET_TRANSACTION, { asked: signature, answered });
      if (transaction?.hasInner) return transaction;
      partial ??= transaction;
    } catch (error) {
      signal?.throwIfAborted();
      errors.push(error);
    }
  }
  if (partial === null && errors.length > 0) throw errors[0];
  return partial;
}

/**
 * Reads what a node answers to `getTransaction` in the encoding `json`.
 * @throws FlywheelError if the answer is not as documented.
 */
function parseTransaction(answer: unknown): ChainTransaction {
  const [meta, slot] = [fieldOf(answer, 'meta'), fieldOf(answer, 'slot')];
  const transaction = fieldOf(answer, 'transaction');
  const [message, signature] = [fieldOf(transaction, 'message'), fieldOf(fieldOf(transaction, 'signatures'), 0)];
  if (typeof slot !== 'number' || typeof meta !== 'object' || meta === null || typeof signature !== 'string') {
    throw unexpectedAnswer(GET_TRANSACTION, answer);
  }
  const loaded = fieldOf(meta, 'loadedAddresses');
  const accounts = [fieldOf(message, 'accountKeys'), fieldOf(loaded, 'writable'), fieldOf(loaded, 'readonly')]
    .flatMap(listOf)
    .map(toAddress);
  const error = fieldOf(meta, 'err') ?? null;
  return {
    signature,
    slot,
    executedAt: toTime(fieldOf(answer, 'blockTime') ?? null),
    failure: error === null ? null : JSON.stringify(error),
    accounts,
    calls: callsOf(message, meta, accounts),
    // Agave answers null unless it runs with --enable-extended-tx-metadata-storage, and an empty list if nothing was called.
    hasInner: error !== null || Array.isArray(fieldOf(meta, 'innerInstructions')),
    meta,
  };
}

/** Returns the value if it is a list, otherwise an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Solana's latest version of transactions. A node refuses to show one of a later version than the caller names. */
const LATEST_VERSION = 1;
/** Stack height of what an instruction of the transaction calls directly. */
const CALLED_HEIGHT = 2;

function toTime(blockTime: unknown): string | null {
  if (blockTime === null) return null;
  const isTime = typeof blockTime === 'number' && blockTime >= 0 && blockTime <= MAX_BLOCK_TIME;
  if (!isTime) throw unexpectedAnswer(GET_TRANSACTION, { blockTime });
  return new Date(blockTime * 1_000).toISOString();
}

function callsOf(message: unknown, meta: object, accounts: readonly Address[]): ChainCall[] {
  const groups = listOf(fieldOf(meta, 'innerInstructions'));
  return listOf(fieldOf(message, 'instructions')).map((instruction, position) => ({
    instruction: toInstruction(instruction, accounts),
    inner: groups
      .filter((group) => fieldOf(group, 'index') === position)
      .flatMap((group) => listOf(fieldOf(group, 'instructions')))
      .map((inner) => {
        const height = fieldOf(inner, 'stackHeight');
        return { ...toInstruction(inner, accounts), stackHeight: typeof height === 'number' ? height : CALLED_HEIGHT };
      }),
  }));
}

function toInstruction(compiled: unknown, accounts: readonly Address[]): Instruction {
  const text = fieldOf(compiled, 'data');
  const data = typeof text === 'string' ? decodeBase58(text) : null;
  if (data === null) throw unexpectedAnswer(GET_TRANSACTION, compiled);
  const at = (index: unknown): Address => {
    const account = typeof index === 'number' ? accounts[index] : undefined;
    if (account === undefined) throw unexpectedAnswer(GET_TRANSACTION, compiled);
    return account;
  };
  return {
    programAddress: at(fieldOf(compiled, 'programIdIndex')),
    // The answer does not contain roles, and nothing that is read here depends on them.
    accounts: listOf(fieldOf(compiled, 'accounts')).map((index) => ({
      address: at(index),
      role: AccountRole.READONLY,
    })),
    data,
  };
}

function toAddress(value: unknown): Address {
  if (typeof value === 'string' && isAddress(value)) return value;
  throw unexpectedAnswer(GET_TRANSACTION, value);
}
