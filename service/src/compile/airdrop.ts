import type { Action } from '@flywheel/api';
import { address, type Instruction } from '@solana/kit';
import { getCreateAssociatedTokenIdempotentInstruction, getTransferCheckedInstruction } from '@solana-program/token';
import { toBaseUnits } from '../model/amount.ts';
import { plainInstruction, type Vault } from './vault.ts';

/**
 * Creates the recipient's token account, which does nothing where it exists, and transfers to it from the vault's. The
 * creation is always there: whether it is needed may change between init and execution.
 * @throws RangeError as `toBaseUnits`.
 */
export async function airdrop(
  { toAddress, amount }: Extract<Action, { action: 'AIRDROP' }>,
  { token, tokenAccount, signer, tokenAccountOf }: Vault,
): Promise<Instruction[]> {
  const recipient = address(toAddress);
  const recipientTokenAccount = await tokenAccountOf(recipient);
  return [
    getCreateAssociatedTokenIdempotentInstruction({
      payer: signer,
      ata: recipientTokenAccount,
      owner: recipient,
      mint: token.mint,
      tokenProgram: token.programAddress,
    }),
    getTransferCheckedInstruction(
      {
        source: tokenAccount,
        mint: token.mint,
        destination: recipientTokenAccount,
        authority: signer,
        amount: toBaseUnits(amount, token.decimals),
        decimals: token.decimals,
      },
      { programAddress: token.programAddress },
    ),
  ].map(plainInstruction);
}
