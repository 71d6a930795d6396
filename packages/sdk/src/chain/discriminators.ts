import type { ReadonlyUint8Array } from '@solana/kit';

/** SystemInstruction::AdvanceNonceAccount, a little-endian u32. */
export const ADVANCE_NONCE: readonly number[] = [4, 0, 0, 0];
/** Anchor’s discriminator: the first eight bytes of SHA-256("global:proposal_approve"). */
export const PROPOSAL_APPROVE: readonly number[] = [144, 37, 164, 136, 188, 216, 42, 248];

/** Whether bytes begin with a discriminator. */
export function startsWith(bytes: ReadonlyUint8Array, prefix: readonly number[]): boolean {
  return prefix.every((byte, position) => bytes[position] === byte);
}
