import type { Batch } from '../model/batch.ts';
import type { Multisig } from '../model/project.ts';
import {
  batchAccountsClose,
  batchCreate,
  locateBatch,
  proposalActivate,
  proposalCreate,
  proposalReject,
  vaultBatchTransactionAccountClose,
} from './instructions.ts';
import type { InstructionGroup } from './plan.ts';
import {
  ACTIVATE_WEIGHT,
  CLOSE_BATCH_WEIGHT,
  CREATE_WEIGHT,
  closeWeight,
  sumOfWeights,
  VOTE_WEIGHT,
} from './weight.ts';

/**
 * Closes what a batch holds on chain, last transaction first as the program demands, then the batch and its proposal;
 * the rent goes to the operator. `size` is how many vault messages are left (`BatchAccount.size`).
 */
export async function closeGroups(
  multisig: Multisig,
  { batchIndex, pipelines }: Pick<Batch, 'batchIndex' | 'pipelines'>,
  size: number,
): Promise<InstructionGroup[]> {
  const batch = await locateBatch(multisig, batchIndex);
  const positions = Array.from({ length: size }, (_, i) => size - 1 - i);
  const closes = positions.map(async (position) => ({
    instructions: [await vaultBatchTransactionAccountClose(batch, position)],
    ...closeWeight(pipelines[position]),
  }));
  return [...(await Promise.all(closes)), { instructions: [batchAccountsClose(batch)], ...CLOSE_BATCH_WEIGHT }];
}

/**
 * Uses up an index for nothing: created, opened, voted down by the company and closed in one transaction. The chain takes
 * indices in order only, so one that nobody needs any more would hold up all later ones.
 */
export async function burnIndexGroup(multisig: Multisig, batchIndex: bigint): Promise<InstructionGroup> {
  const batch = await locateBatch(multisig, batchIndex);
  const weights = [CREATE_WEIGHT, ACTIVATE_WEIGHT, VOTE_WEIGHT, CLOSE_BATCH_WEIGHT];
  return {
    instructions: [
      batchCreate(batch),
      proposalCreate(batch),
      proposalActivate(batch),
      proposalReject(batch, multisig.company),
      batchAccountsClose(batch),
    ],
    ...sumOfWeights(weights),
  };
}
