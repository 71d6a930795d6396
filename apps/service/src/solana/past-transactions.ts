import { MAX_SIGNATURES_FOR_ADDRESS } from '@flywheel/protocol';
import { firstKnown, TRANSACTION_HISTORY_NOT_AVAILABLE } from '@flywheel/solana-rpc';
import type { Address, Instruction, Signature } from '@solana/kit';
import type * as z from 'zod';
import { HistoryAnswer, LogsAnswer, TransactionAnswer, type TransactionCosts } from './answers.ts';
import type { DecisiveCommitment, Floor } from './floor.ts';
import { type LandedTransaction, LandedTransactionAnswer } from './landed-transaction.ts';
import { ask, type ChainRpc, nodeErrorOf } from './rpc.ts';

export interface PastReads {
  /** Reads a confirmed transaction’s fee and balance changes; null if no node knows it (yet, or any more). */
  transactionCosts(signature: Signature): Promise<TransactionCosts | null>;
  /** Reads the logs of a confirmed transaction; empty if no node knows it (yet, or any more). */
  transactionLogs(signature: Signature): Promise<readonly string[]>;
  /** Reads a confirmed transaction; null if no node knows it (yet, or any more). */
  landedTransaction(signature: Signature): Promise<LandedTransaction | null>;
}

/** Creates the reads of past transactions. These are the same on every node, so each node is asked until one knows it. */
export function createPastReads(nodes: () => readonly ChainRpc[]): PastReads {
  const read = <T>(signature: Signature, shape: z.ZodType<T>) =>
    firstKnown(nodes(), (rpc) => readTransaction(rpc, signature, 'confirmed', shape));
  return {
    transactionCosts: (signature) => read(signature, TransactionAnswer),
    transactionLogs: async (signature) => (await read(signature, LogsAnswer))?.meta.logMessages ?? [],
    landedTransaction: (signature) => read(signature, LandedTransactionAnswer),
  };
}

export interface NamingTransaction {
  readonly signature: Signature;
  /** The transaction's own instructions, each with those that it called in turn: anyone can call a program by another. */
  readonly instructions: readonly Instruction[];
}

/**
 * Reads the transactions that named an address and succeeded, oldest first. `incomplete` if the node keeps no history, or
 * lists a transaction that it does not have.
 */
export async function readNaming(
  rpc: ChainRpc,
  address: Address,
  commitment: DecisiveCommitment,
  floor: Floor,
): Promise<readonly NamingTransaction[] | 'incomplete'> {
  const transactions: NamingTransaction[] = [];
  try {
    for (const signature of await succeededSignatures(rpc, address, commitment, floor)) {
      const found = await readTransaction(rpc, signature, commitment, LandedTransactionAnswer);
      if (!found) return 'incomplete';
      transactions.push({
        signature,
        instructions: found.calls.flatMap(({ instruction, inner }) => [instruction, ...inner]),
      });
    }
  } catch (error) {
    if (nodeErrorOf(error)?.code === TRANSACTION_HISTORY_NOT_AVAILABLE) return 'incomplete';
    throw error;
  }
  return transactions;
}

async function succeededSignatures(
  rpc: ChainRpc,
  address: Address,
  commitment: DecisiveCommitment,
  floor: Floor,
): Promise<Signature[]> {
  const newestFirst: { readonly signature: Signature; readonly err: string | null }[] = [];
  for (let before: Signature | undefined; ; before = newestFirst.at(-1)?.signature) {
    const page = await floor.await(() => {
      const config = {
        commitment,
        limit: MAX_SIGNATURES_FOR_ADDRESS,
        ...floor.at(commitment),
        ...(before && { before }),
      } as const;
      return ask('getSignaturesForAddress', rpc.getSignaturesForAddress(address, config), HistoryAnswer);
    });
    newestFirst.push(...page);
    if (page.length < MAX_SIGNATURES_FOR_ADDRESS) break;
  }
  return newestFirst
    .filter(({ err }) => err === null)
    .map(({ signature }) => signature)
    .reverse();
}

function readTransaction<T>(
  rpc: ChainRpc,
  signature: Signature,
  commitment: DecisiveCommitment,
  shape: z.ZodType<T>,
): Promise<T> {
  const config = { commitment, encoding: 'json', maxSupportedTransactionVersion: 1 } as const;
  return ask('getTransaction', rpc.getTransaction(signature, config), shape);
}
