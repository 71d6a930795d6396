import { address } from '@flywheel/protocol';
import {
  type AccountMeta,
  AccountRole,
  type Address,
  type Instruction,
  type InstructionWithAccounts,
  type InstructionWithData,
  type ReadonlyUint8Array,
} from '@solana/kit';

/** Squads v4, immutable on every public cluster (its upgrade authority is none). */
export const SQUADS_PROGRAM_ADDRESS = /* @__PURE__ */ address('SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf');

/** An instruction of the program. The roles of its accounts say who signs; it carries no signer. */
export type SquadsInstruction = Instruction<typeof SQUADS_PROGRAM_ADDRESS> &
  InstructionWithAccounts<readonly AccountMeta[]> &
  InstructionWithData<ReadonlyUint8Array>;

/** Returns true if the data of an instruction or an account begins with a discriminator. */
export function hasDiscriminator(data: ReadonlyUint8Array, discriminator: ReadonlyUint8Array): boolean {
  return discriminator.every((byte, index) => data[index] === byte);
}

/** Joins discriminator and arguments; what the generated builders have in common. */
export function instruction(
  discriminator: ReadonlyUint8Array,
  accounts: readonly AccountMeta[],
  args: ReadonlyUint8Array = new Uint8Array(),
): SquadsInstruction {
  const data = new Uint8Array(discriminator.length + args.length);
  data.set(discriminator);
  data.set(args, discriminator.length);
  return { programAddress: SQUADS_PROGRAM_ADDRESS, accounts, data };
}

/** Anchor marks an optional account as absent by the program's own address. */
export function optional(account: Address | null | undefined, role: AccountRole): AccountMeta {
  return account ? { address: account, role } : { address: SQUADS_PROGRAM_ADDRESS, role: AccountRole.READONLY };
}
