import { addressEncoder, SIGNATURE_BYTES } from '@flywheel/protocol';
import {
  AccountRole,
  type Address,
  type Base64EncodedWireTransaction,
  getAddressComparator,
  getBase64Decoder,
  getShortU16Encoder,
  type Instruction,
  isSignerRole,
  isWritableRole,
  mergeRoles,
  type TransactionMessageWithLifetime,
} from '@solana/kit';
import type { UnsignedMessage } from './fee.ts';

/**
 * Encodes a transaction of version 0 without lookup tables for the wallets that will sign it, with empty signatures. The bytes
 * are those of kit, which takes ten times as long: it makes a collator for each transaction and reads addresses with large
 * integers (docs/decisions/0089-init-in-few-statements.md).
 * @throws Error for a message that uses a lookup table.
 */
export function encodeUnsignedTransaction({
  feePayer,
  instructions,
  lifetimeConstraint,
}: Extract<UnsignedMessage, { version: 0 }> & TransactionMessageWithLifetime): Base64EncodedWireTransaction {
  const roles = orderedRoles(feePayer.address, instructions);
  const indices = new Map(roles.map(([address], index) => [address, index]));
  const signers = roles.filter(([, role]) => isSignerRole(role));
  const readonlySigners = signers.filter(([, role]) => !isWritableRole(role));
  const readonlyOthers = roles.filter(([, role]) => role === AccountRole.READONLY);

  const bytes: number[] = [];
  const writeCount = (count: number) => bytes.push(...shortU16.encode(count));
  const writeAddress = (address: string) => bytes.push(...addressEncoder.encode(address as Address));
  const writeIndex = (address: Address) => bytes.push(indices.get(address) ?? 0);
  writeCount(signers.length);
  bytes.push(...new Uint8Array(signers.length * SIGNATURE_BYTES));
  bytes.push(VERSION_0, signers.length, readonlySigners.length, readonlyOthers.length);
  writeCount(roles.length);
  for (const [address] of roles) writeAddress(address);
  // The value of a nonce and a blockhash are written as an address is.
  writeAddress('nonce' in lifetimeConstraint ? lifetimeConstraint.nonce : lifetimeConstraint.blockhash);
  writeCount(instructions.length);
  for (const { programAddress, accounts = [], data = new Uint8Array() } of instructions) {
    writeIndex(programAddress);
    writeCount(accounts.length);
    for (const { address } of accounts) writeIndex(address);
    writeCount(data.length);
    bytes.push(...data);
  }
  writeCount(0); // lookup tables
  return getBase64Decoder().decode(Uint8Array.from(bytes)) as Base64EncodedWireTransaction;
}

const shortU16 = /* @__PURE__ */ getShortU16Encoder();
/** The highest bit tells a versioned message from a legacy one. */
const VERSION_0 = 0x80;

/** Lists every account once, with the most that is asked of it: the fee payer, then signers before others and writable before read-only. */
function orderedRoles(feePayer: Address, instructions: readonly Instruction[]): [Address, AccountRole][] {
  const roles = new Map<Address, AccountRole>([[feePayer, AccountRole.WRITABLE_SIGNER]]);
  const add = (address: Address, role: AccountRole) =>
    roles.set(address, mergeRoles(roles.get(address) ?? AccountRole.READONLY, role));
  for (const { programAddress, accounts = [] } of instructions) {
    add(programAddress, AccountRole.READONLY);
    for (const meta of accounts) {
      if ('lookupTableAddress' in meta) throw new Error(`${meta.address} may not come from a lookup table.`);
      add(meta.address, meta.role);
    }
  }
  return [...roles].sort(([one, role], [other, otherRole]) => {
    const byPayer = Number(other === feePayer) - Number(one === feePayer);
    const bySigner = Number(isSignerRole(otherRole)) - Number(isSignerRole(role));
    const byWritable = Number(isWritableRole(otherRole)) - Number(isWritableRole(role));
    return byPayer || bySigner || byWritable || compareAddresses(one, other);
  });
}

const compareAddresses = /* @__PURE__ */ getAddressComparator();
