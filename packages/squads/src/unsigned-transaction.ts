import { encodeMessage, SIGNATURE_BYTES } from '@flywheel/protocol';
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
  const indexOf = (address: Address) => indices.get(address) ?? 0; // every address of an instruction has a role
  const signers = roles.filter(([, role]) => isSignerRole(role));
  const message = encodeMessage({
    version: 0,
    header: {
      numSignerAccounts: signers.length,
      numReadonlySignerAccounts: signers.filter(([, role]) => !isWritableRole(role)).length,
      numReadonlyNonSignerAccounts: roles.filter(([, role]) => role === AccountRole.READONLY).length,
    },
    staticAccounts: roles.map(([address]) => address),
    lifetimeToken: 'nonce' in lifetimeConstraint ? lifetimeConstraint.nonce : lifetimeConstraint.blockhash,
    instructions: instructions.map(({ programAddress, accounts = [], data = new Uint8Array() }) => ({
      programAddressIndex: indexOf(programAddress),
      accountIndices: accounts.map(({ address }) => indexOf(address)),
      data,
    })),
  });
  const signatures = signers.length * SIGNATURE_BYTES;
  const count = shortU16.encode(signers.length);
  const bytes = new Uint8Array(count.length + signatures + message.length);
  bytes.set(count);
  bytes.set(message, count.length + signatures);
  return getBase64Decoder().decode(bytes) as Base64EncodedWireTransaction; // the layout of a transaction
}

const shortU16 = /* @__PURE__ */ getShortU16Encoder();

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
