import type { Address, Base64EncodedWireTransaction, ReadonlyUint8Array } from '@solana/kit';
import { ADVANCE_NONCE, PROPOSAL_APPROVE, startsWith } from '../chain/discriminators.ts';
import { COMPUTE_BUDGET_PROGRAM, SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../chain/programs.ts';
import { decodeTransaction, refusal } from './decode-transaction.ts';
import { type ApprovalSigner, signTransaction } from './sign-transaction.ts';

/**
 * Adds the project wallet’s signature to `proposalApproveTx`; signatures already there stay. Whatever asked for it, a
 * transaction that does anything but vote (advance its nonce, set its compute budget, approve proposals), or that has
 * the wallet pay for it, is not signed. What the proposals do is not looked at: `signAfterLook` does that too.
 * @throws FlywheelError `ERR_SIGNING_REFUSED`, naming what is wrong.
 *
 * @example
 * const signedTx = await signApproval(proposalApproveTx, wallet);
 * await client.executeBatch({ batchId: batch.id, signedTx });
 */
export async function signApproval(
  proposalApproveTx: string,
  wallet: ApprovalSigner,
): Promise<Base64EncodedWireTransaction> {
  const { message } = decodeTransaction(proposalApproveTx);
  if (message.version !== 0 || (message.addressTableLookups ?? []).length > 0) {
    throw refusal('an approval is a version 0 transaction without lookup tables; this is none.');
  }
  const [feePayer] = message.staticAccounts;
  if (feePayer === wallet.address) throw refusal(`it would have your wallet ${wallet.address} pay for it.`);
  for (const [position, { programAddressIndex, data = new Uint8Array() }] of message.instructions.entries()) {
    const program = message.staticAccounts[programAddressIndex];
    if (program === undefined || !isPartOfApproval(program, data)) {
      throw refusal(
        `instruction ${position} calls ${program ?? 'an unknown program'} for something other than a vote.`,
      );
    }
  }
  return signTransaction(proposalApproveTx, wallet);
}

function isPartOfApproval(program: Address, instruction: ReadonlyUint8Array): boolean {
  if (program === COMPUTE_BUDGET_PROGRAM) return true;
  if (program === SYSTEM_PROGRAM)
    return instruction.length === ADVANCE_NONCE.length && startsWith(instruction, ADVANCE_NONCE);
  return program === SQUADS_PROGRAM && startsWith(instruction, PROPOSAL_APPROVE);
}
