import type { Instruction, ReadonlyUint8Array } from '@solana/kit';
import type { CompiledPipeline } from '../model/batch.ts';
import type { Multisig } from '../model/project.ts';
import { batchExecuteTransaction, locateBatch } from './instructions.ts';
import type { InstructionGroup } from './plan.ts';
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

/** The same with what it takes of a transaction; `innerUnits` is what the pipeline’s instructions use by themselves. */
export async function executionGroup(
  multisig: Multisig,
  { batchIndex, position }: { readonly batchIndex: bigint; readonly position: number },
  pipeline: CompiledPipeline,
  innerUnits: number,
): Promise<InstructionGroup> {
  const instruction = await executeInstruction(multisig, batchIndex, position, pipeline.vaultMessage);
  return { instructions: [instruction], ...executeWeight(pipeline, innerUnits) };
}
