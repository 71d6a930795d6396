import type { Batch } from '../model/batch.ts';
import type { Multisig } from '../model/project.ts';
import { batchAddTransaction, batchCreate, locateBatch, proposalActivate, proposalCreate } from './instructions.ts';
import type { InstructionGroup } from './plan.ts';
import { ACTIVATE_WEIGHT, addWeight, CREATE_WEIGHT } from './weight.ts';

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
export async function setupGroups(
  multisig: Multisig,
  { batchIndex, pipelines }: Pick<Batch, 'batchIndex' | 'pipelines'>,
  cursor: SetupCursor = { isCreated: false, size: 0 },
): Promise<InstructionGroup[]> {
  if (pipelines.length === 0) throw new Error(`Batch ${batchIndex} of ${multisig.address} has no pipelines.`);
  if (cursor.size > pipelines.length) {
    throw new Error(`Batch ${batchIndex} holds ${cursor.size} transactions on chain, but has ${pipelines.length}.`);
  }
  const batch = await locateBatch(multisig, batchIndex);
  const adds = pipelines.slice(cursor.size).map(async (pipeline, index) => ({
    instructions: [await batchAddTransaction(batch, cursor.size + index, pipeline.vaultMessage)],
    ...addWeight(pipeline),
  }));
  return [
    ...(cursor.isCreated ? [] : [{ instructions: [batchCreate(batch), proposalCreate(batch)], ...CREATE_WEIGHT }]),
    ...(await Promise.all(adds)),
    { instructions: [proposalActivate(batch)], ...ACTIVATE_WEIGHT },
  ];
}
