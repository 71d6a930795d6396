import type { Instruction, ReadonlyUint8Array } from '@solana/kit';
import type { Batch, CompiledPipeline } from '../model/batch.ts';
import type { Multisig } from '../model/project.ts';
import { batchExecuteTransaction, locateBatch } from './instructions.ts';
import type { InstructionGroup } from './plan.ts';
import { rotationExecutionGroup } from './rotation/groups.ts';
import { vaultMessageAccounts } from './vault-message.ts';
import { executeWeight } from './weight.ts';

/**
 * Executes the pipeline at a zero-based position of an approved batch. The chain takes positions in order only:
 * `BatchAccount.executedTransactionIndex` is the next one.
 */
export async function executeInstruction(
  multisig: Multisig,
  batchIndex: bigint,
  position: number,
  vaultMessage: ReadonlyUint8Array,
): Promise<Instruction> {
  const batch = await locateBatch(multisig, batchIndex);
  return batchExecuteTransaction(batch, position, vaultMessageAccounts(vaultMessage, multisig));
}

/** What executes the pipeline of a batch of any kind; `innerUnits` as below. */
export async function batchExecutionGroup(
  multisig: Multisig,
  batch: Pick<Batch, 'kind' | 'batchIndex' | 'pipelines'>,
  position: number,
  innerUnits: number,
): Promise<InstructionGroup> {
  if (batch.kind === 'rotation') return rotationExecutionGroup(multisig, batch);
  const { batchIndex, pipelines } = batch;
  const pipeline = pipelines[position];
  if (!pipeline) throw new Error(`Batch index ${batchIndex} has no pipeline ${position}.`);
  return executionGroup(multisig, { batchIndex, position }, pipeline, innerUnits);
}

/** Executes a pipeline, with what that takes of a transaction; `innerUnits` is what the pipeline’s instructions use by themselves. */
export async function executionGroup(
  multisig: Multisig,
  { batchIndex, position }: { readonly batchIndex: bigint; readonly position: number },
  pipeline: CompiledPipeline,
  innerUnits: number,
): Promise<InstructionGroup> {
  const instruction = await executeInstruction(multisig, batchIndex, position, pipeline.vaultMessage);
  return { instructions: [instruction], ...executeWeight(pipeline, innerUnits) };
}
