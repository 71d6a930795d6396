import { createHash } from 'node:crypto';

/** Accounts of Squads by the names that their program gives them. */
export type AccountKind = 'Multisig' | 'Proposal' | 'Batch' | 'VaultBatchTransaction';

/** Where a value stands in an account of Squads: eight bytes of discriminator, then its fields in order. */
export const OFFSETS = {
  /** Of a multisig, u16: after its create key and its config authority. */
  threshold: 8 + 32 + 32,
  /** Of a multisig: after its create key. */
  configAuthority: 8 + 32,
  /** Of a proposal, u8: after its multisig and its index. */
  status: 8 + 32 + 8,
  /** Of a batch, u8: after its multisig, its creator, its index and its bump. */
  vaultIndex: 8 + 32 + 32 + 8 + 1,
} as const;

const BASE64_TEXT = /"([A-Za-z0-9+/]{40,}={0,2})"/g;

/** An RPC’s answer in which the accounts of a kind hold other bytes. */
export function alterAccount(kind: AccountKind, change: (bytes: Buffer) => void): (text: string) => string {
  const discriminator = createHash('sha256').update(`account:${kind}`).digest().subarray(0, 8);
  return (text) =>
    text.replaceAll(BASE64_TEXT, (found, base64: string) => {
      const bytes = Buffer.from(base64, 'base64');
      if (!bytes.subarray(0, 8).equals(discriminator)) return found;
      change(bytes);
      return `"${bytes.toString('base64')}"`;
    });
}

/** Puts one amount, in base units, in the place of another. */
export function replaceAmount(bytes: Buffer, from: bigint, to: bigint): void {
  const amount = Buffer.alloc(8);
  amount.writeBigUInt64LE(from);
  const at = bytes.indexOf(amount);
  if (at >= 0) bytes.writeBigUInt64LE(to, at);
}
