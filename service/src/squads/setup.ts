import type { Instruction } from '@solana/kit';
import type { Batch } from '../model/batch.ts';
import type { Multisig } from '../model/project.ts';
import { batchAddTransaction, batchCreate, locateBatch, proposalActivate, proposalCreate } from './instructions.ts';

/** How far the setup of a batch has come on chain. */
export interface SetupCursor {
  /** Whether the batch and its draft exist. */
  readonly isCreated: boolean;
  /** `Batch.size`: how many vault messages the draft holds. */
  readonly size: number;
}

/**
 * What puts a batch on chain and opens it for votes, from where its setup stands: the creation of batch and draft, each
 * vault message, the activation. A group belongs in one transaction; an empty batch is refused because one that was
 * approved empty could neither be executed nor closed.
 */
export async function setupInstructions(
  multisig: Multisig,
  { batchIndex, pipelines }: Pick<Batch, 'batchIndex' | 'pipelines'>,
  cursor: SetupCursor = { isCreated: false, size: 0 },
): Promise<Instruction[][]> {
  if (pipelines.length === 0) throw new Error(`Batch ${batchIndex} of ${multisig.address} has no pipelines.`);
  if (cursor.size > pipelines.length) {
    throw new Error(`Batch ${batchIndex} holds ${cursor.size} transactions on chain, but has ${pipelines.length}.`);
  }
  const batch = await locateBatch(multisig, batchIndex);
  const adds = pipelines
    .slice(cursor.size)
    .map(async ({ vaultMessage }, index) => [await batchAddTransaction(batch, cursor.size + index, vaultMessage)]);
  return [
    ...(cursor.isCreated ? [] : [[batchCreate(batch), proposalCreate(batch)]]),
    ...(await Promise.all(adds)),
    [proposalActivate(batch)],
  ];
}
