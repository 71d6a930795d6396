import { type AccountMeta, AccountRole, type Instruction, isSignerRole, isWritableRole } from '@solana/kit';
import type { Damage } from './run-plan.ts';

/** Damages an instruction as a faulty or hostile client could. */
export function damageInstruction(instruction: Instruction, damage: Damage): Instruction {
  const accounts = instruction.accounts ?? [];
  switch (damage.kind) {
    case 'drop account':
      return { ...instruction, accounts: accounts.slice(0, -1) };
    case 'weaken': {
      const chosen = damage.account % Math.max(1, accounts.length);
      return {
        ...instruction,
        accounts: accounts.map((meta, each) => (each === chosen ? weaken(meta, damage.to) : meta)),
      };
    }
    case 'swap': {
      const chosen = damage.account % Math.max(1, accounts.length);
      const other = accounts[damage.from % Math.max(1, accounts.length)];
      const swapped = accounts.map((meta, each) =>
        each === chosen && other ? { ...meta, address: other.address } : meta,
      );
      return { ...instruction, accounts: swapped };
    }
    case 'cut':
      return { ...instruction, data: instruction.data?.slice(0, Math.max(0, instruction.data.length - damage.bytes)) };
  }
}

/** Removes one privilege of an account. */
export function weaken({ address, role }: AccountMeta, to: 'readonly' | 'not signing'): AccountMeta {
  const signs = isSignerRole(role) && to !== 'not signing';
  const writable = isWritableRole(role) && to !== 'readonly';
  if (signs) return { address, role: writable ? AccountRole.WRITABLE_SIGNER : AccountRole.READONLY_SIGNER };
  return { address, role: writable ? AccountRole.WRITABLE : AccountRole.READONLY };
}
