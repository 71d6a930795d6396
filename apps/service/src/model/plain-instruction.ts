import type { Instruction } from '@solana/kit';

/**
 * Keeps the program, the accounts with their roles, and the data. Builders attach more, such as signers, but HTTP processes
 * hold no keys, and the roles say who signs.
 */
export function plainInstruction({ programAddress, accounts = [], data = new Uint8Array() }: Instruction): Instruction {
  return { programAddress, accounts: accounts.map(({ address, role }) => ({ address, role })), data };
}
