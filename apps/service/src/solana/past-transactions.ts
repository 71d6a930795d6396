import { chunksOf, MAX_SIGNATURES_FOR_ADDRESS } from '@flywheel/protocol';
import { firstKnown, TRANSACTION_HISTORY_NOT_AVAILABLE } from '@flywheel/solana-rpc';
import type { Address, Instruction, Signature } from '@solana/kit';
import type * as z from 'zod';
import { HistoryAnswer, LogsAnswer, paired, TransactionAnswer, type TransactionCosts } from './answers.ts';
import type { DecisiveCommitment, Floor } from './floor.ts';
import { type LandedTransaction, LandedTransactionAnswer } from './landed-transaction.ts';
import { ask, type ChainRpc, nodeErrorOf } from './rpc.ts';

export interface PastReads {
  /** Reads a finalized transaction’s fee and balance changes; null if no node knows it as final (yet, or any more). */
  transactionCosts(signature: Signature): Promise<TransactionCosts | null>;
  /** Reads the logs of a confirmed transaction; empty if no node knows it (yet, or any more). */
  transactionLogs(signature: Signature): Promise<readonly string[]>;
  /** Reads a confirmed transaction with all that it called; null if no node knows that (yet, or any more). */
  landedTransaction(signature: Signature): Promise<LandedTransaction | null>;
}

/** Creates the reads of past transactions. These are the same on every node, so each node is asked until one knows it. */
export function createPastReads(nodes: () => readonly ChainRpc[]): PastReads {
  const read = <T>(signature: Signature, commitment: DecisiveCommitment, shape: z.ZodType<T>) =>
    firstKnown(nodes(), (rpc) => readTransaction(rpc, signature, commitment, shape));
  return {
    transactionCosts: (signature) => read(signature, 'finalized', TransactionAnswer),
    transactionLogs: async (signature) => (await read(signature, 'confirmed', LogsAnswer))?.meta.logMessages ?? [],
    landedTransaction: (signature) => read(signature, 'confirmed', WholeTransactionAnswer),
  };
}

/** A node that has not recorded what a transaction called cannot say what it has proven. */
const WholeTransactionAnswer = LandedTransactionAnswer.transform((landed) => (landed?.hasInner ? landed : null));

export interface NamingTransaction {
  readonly signature: Signature;
  /** The transaction's own instructions, each with those that it called in turn: anyone can call a program by another. */
  readonly instructions: readonly Instruction[];
}

/** A worker reads few at once, so that large transactions of strangers take little memory and few requests a second. */
const READS_AT_ONCE = 4;

/**
 * Reads the transactions that named an address and succeeded, newest first. It keeps none of them, because anyone can name
 * an address in as many transactions as they pay for. Yields `incomplete` and ends if the node keeps no history, or lists a
 * transaction that it does not have.
 */
export async function* readNaming(
  rpc: ChainRpc,
  address: Address,
  commitment: DecisiveCommitment,
  floor: Floor,
): AsyncGenerator<NamingTransaction | 'incomplete', void> {
  try {
    for await (const signatures of succeededSignatures(rpc, address, commitment, floor)) {
      for (const chunk of chunksOf(signatures, READS_AT_ONCE)) {
        const read = (signature: Signature) => readTransaction(rpc, signature, commitment, LandedTransactionAnswer);
        const found = await Promise.all(chunk.map(read));
        for (const [signature, transaction] of paired('getTransaction', chunk, found, (...pair) => pair)) {
          if (!transaction) return yield 'incomplete';
          yield {
            signature,
            instructions: transaction.calls.flatMap(({ instruction, inner }) => [instruction, ...inner]),
          };
        }
      }
    }
  } catch (error) {
    if (nodeErrorOf(error)?.code !== TRANSACTION_HISTORY_NOT_AVAILABLE) throw error;
    yield 'incomplete';
  }
}

/** Reads the signatures of successful transactions that named an address, page by page, newest first. */
async function* succeededSignatures(
  rpc: ChainRpc,
  address: Address,
  commitment: DecisiveCommitment,
  floor: Floor,
): AsyncGenerator<readonly Signature[], void> {
  let before: Signature | undefined;
  do {
    const config = {
      commitment,
      limit: MAX_SIGNATURES_FOR_ADDRESS,
      ...floor.at(commitment),
      ...(before && { before }),
    } as const;
    const page = await floor.await(() =>
      ask('getSignaturesForAddress', rpc.getSignaturesForAddress(address, config), HistoryAnswer),
    );
    yield page.flatMap(({ signature, err }) => (err === null ? signature : []));
    before = page.length < MAX_SIGNATURES_FOR_ADDRESS ? undefined : page.at(-1)?.signature;
  } while (before !== undefined);
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
