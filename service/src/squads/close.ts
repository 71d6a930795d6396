import type { Instruction } from '@solana/kit';
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

/**
 * Closes what a batch holds on chain, last transaction first as the program demands, then the batch and its proposal;
 * the rent goes to the operator. `size` is how many vault messages are left (`BatchAccount.size`).
 */
export async function closeInstructions(
  multisig: Multisig,
  batchIndex: bigint,
  size: number,
): Promise<Instruction[][]> {
  const batch = await locateBatch(multisig, batchIndex);
  const positions = Array.from({ length: size }, (_, i) => size - 1 - i);
  const closes = positions.map(async (position) => [await vaultBatchTransactionAccountClose(batch, position)]);
  return [...(await Promise.all(closes)), [batchAccountsClose(batch)]];
}

/**
 * Uses up an index for nothing: created, opened, voted down by the company and closed in one transaction. The chain takes
 * indices in order only, so one that nobody needs any more would hold up all later ones.
 */
export async function burnIndexInstructions(multisig: Multisig, batchIndex: bigint): Promise<Instruction[]> {
  const batch = await locateBatch(multisig, batchIndex);
  return [
    batchCreate(batch),
    proposalCreate(batch),
    proposalActivate(batch),
    proposalReject(batch, multisig.company),
    batchAccountsClose(batch),
  ];
}
