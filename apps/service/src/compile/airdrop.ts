import type { Action } from '@flywheel/api';
import { type Address, address, type Instruction } from '@solana/kit';
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
  vault: Vault,
): Promise<Instruction[]> {
  return transferCreating(address(toAddress), toBaseUnits(amount, vault.token.decimals), vault);
}

/** To a recipient's associated token account, which is created where it is missing. */
export async function transferCreating(
  recipient: Address,
  amountBaseUnits: bigint,
  { token, tokenAccount, signer, tokenAccountOf }: Vault,
): Promise<Instruction[]> {
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
        amount: amountBaseUnits,
        decimals: token.decimals,
      },
      { programAddress: token.programAddress },
    ),
  ].map(plainInstruction);
}
