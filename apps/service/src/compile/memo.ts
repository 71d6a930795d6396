import { AccountRole, type Instruction } from '@solana/kit';
import { LEGACY_MEMO_PROGRAM_ADDRESS_V3 } from '@solana-program/memo';
import type { Vault } from './vault.ts';

/** A memo that the vault signs, so that the chain attests who wrote it. Memo v3 is the one deployed on every cluster. */
export function memo(text: string, { address }: Pick<Vault, 'address'>): Instruction {
  return {
    programAddress: LEGACY_MEMO_PROGRAM_ADDRESS_V3,
    accounts: [{ address, role: AccountRole.READONLY_SIGNER }],
    data: new TextEncoder().encode(text),
  };
}
