import type { Action } from '@flywheel/api';
import type { Instruction } from '@solana/kit';
import { getBurnCheckedInstruction } from '@solana-program/token';
import { toBaseUnits } from '../model/amount.ts';
import { plainInstruction, type Vault } from './vault.ts';

/** Burns from the vault's token account. @throws RangeError as `toBaseUnits`. */
export function burn(
  { amount }: Extract<Action, { action: 'BURN' }>,
  { token, tokenAccount, signer }: Vault,
): Instruction {
  return plainInstruction(
    // Token-2022 keeps SPL Token's instruction, so one builder serves both.
    getBurnCheckedInstruction(
      {
        account: tokenAccount,
        mint: token.mint,
        authority: signer,
        amount: toBaseUnits(amount, token.decimals),
        decimals: token.decimals,
      },
      { programAddress: token.programAddress },
    ),
  );
}
