import {
  ACTIVATE_WEIGHT,
  addWeight,
  CLOSE_BATCH_WEIGHT,
  CREATE_WEIGHT,
  closeWeight,
  executeWeight,
  type InstructionGroup,
  sumOfWeights,
  VOTE_WEIGHT,
  vaultMessageAccounts,
} from '@flywheel/squads';
import type { Batch, CompiledPipeline } from '../model/batch.ts';
import { isOperatorLost, type Multisig } from '../model/project.ts';
import {
  batchAccountsClose,
  batchAddTransaction,
  batchCreate,
  batchExecuteTransaction,
  locateBatch,
  proposalActivate,
  proposalCreate,
  proposalReject,
  vaultBatchTransactionAccountClose,
} from './instructions.ts';
import { rotationExecutionGroup } from './rotation.ts';

// The groups of instructions that carry a batch through its life on chain. A group belongs in one transaction.

/** How far the setup of a batch has come on chain. */
export interface SetupCursor {
  /** True if the batch and its draft exist. */
  readonly isCreated: boolean;
  /** `BatchAccount.size`: the number of vault messages in the draft. */
  readonly size: number;
}

/**
 * Builds what puts a batch on chain and opens it for votes, from where its setup stands: the creation of batch and draft,
 * each vault message, the activation.
 * @throws Error for a batch without pipelines: once approved, it could neither be executed nor closed.
 */
export function setupGroups(
  multisig: Multisig,
  { batchIndex, pipelines }: Pick<Batch, 'batchIndex' | 'pipelines'>,
  cursor: SetupCursor = { isCreated: false, size: 0 },
): InstructionGroup[] {
  if (pipelines.length === 0) throw new Error(`Batch ${batchIndex} of ${multisig.address} has no pipelines.`);
  if (cursor.size > pipelines.length) {
    throw new Error(`Batch ${batchIndex} has ${cursor.size} transactions on chain and ${pipelines.length} pipelines.`);
  }
  const batch = locateBatch(multisig, batchIndex);
  const adds = pipelines.slice(cursor.size).map(({ vaultMessage, instructions }, index) => ({
    instructions: [batchAddTransaction(batch, cursor.size + index, vaultMessage)],
    ...addWeight(instructions),
  }));
  return [
    ...(cursor.isCreated ? [] : [{ instructions: [batchCreate(batch), proposalCreate(batch)], ...CREATE_WEIGHT }]),
    ...adds,
    { instructions: [proposalActivate(batch)], ...ACTIVATE_WEIGHT },
  ];
}

/**
 * Builds what executes one pipeline of a batch of any kind.
 * @param innerUnits compute units that the pipeline's instructions use when they run by themselves.
 */
export function batchExecutionGroup(
  multisig: Multisig,
  batch: Pick<Batch, 'kind' | 'batchIndex' | 'pipelines'>,
  position: number,
  innerUnits: number,
): InstructionGroup {
  if (batch.kind === 'rotation') return rotationExecutionGroup(multisig, batch);
  const { batchIndex, pipelines } = batch;
  const pipeline = pipelines[position];
  if (!pipeline) throw new Error(`Batch ${batchIndex} has no pipeline ${position}.`);
  return executionGroup(multisig, { batchIndex, position }, pipeline, innerUnits);
}

/**
 * Builds what executes the pipeline at a position of an approved batch. The chain takes positions in order only:
 * `BatchAccount.executedTransactionIndex` is the next one.
 */
export function executionGroup(
  multisig: Multisig,
  { batchIndex, position }: { readonly batchIndex: bigint; readonly position: number },
  { vaultMessage, instructions }: Pick<CompiledPipeline, 'vaultMessage' | 'instructions'>,
  innerUnits: number,
): InstructionGroup {
  const { vault, lookupTable } = multisig;
  const accounts = vaultMessageAccounts(vaultMessage, { vault, lookupTables: [lookupTable] });
  const batch = locateBatch(multisig, batchIndex);
  return {
    instructions: [batchExecuteTransaction(batch, position, accounts)],
    ...executeWeight(instructions, innerUnits),
  };
}

/**
 * Builds what closes an ended batch: the accounts of its vault messages, last first as the program demands, then the
 * batch and its proposal. The rent goes to the rent collector.
 * @param size number of vault messages that are left (`BatchAccount.size`).
 */
export function closeGroups(
  multisig: Multisig,
  { batchIndex, pipelines }: Pick<Batch, 'batchIndex' | 'pipelines'>,
  size: number,
): InstructionGroup[] {
  const batch = locateBatch(multisig, batchIndex);
  const positions = Array.from({ length: size }, (_, i) => size - 1 - i);
  const closes = positions.map((position) => ({
    instructions: [vaultBatchTransactionAccountClose(batch, position)],
    ...closeWeight(pipelines[position]?.instructions),
  }));
  return [...closes, { instructions: [batchAccountsClose(batch)], ...CLOSE_BATCH_WEIGHT }];
}

/**
 * Builds what uses up an index without effect: a batch is created, opened, rejected by the company and closed in one
 * transaction. The chain takes indices in order only, so an index that is no longer needed would block all later ones. Its
 * accounts stay while their rent would go to a lost operator.
 */
export function burnIndexGroup(multisig: Multisig, batchIndex: bigint): InstructionGroup {
  const batch = locateBatch(multisig, batchIndex);
  return {
    instructions: [
      batchCreate(batch),
      proposalCreate(batch),
      proposalActivate(batch),
      proposalReject(batch, multisig.company),
      ...(isOperatorLost(multisig) ? [] : [batchAccountsClose(batch)]),
    ],
    ...sumOfWeights([CREATE_WEIGHT, ACTIVATE_WEIGHT, VOTE_WEIGHT, CLOSE_BATCH_WEIGHT]),
  };
}
