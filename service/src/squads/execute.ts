import type { Instruction, ReadonlyUint8Array } from '@solana/kit';
import type { Multisig } from '../model/project.ts';
import { batchExecuteTransaction, locateBatch } from './instructions.ts';
import { vaultMessageAccounts } from './vault-message.ts';

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
