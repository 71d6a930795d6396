import { ADDRESS_BYTES, addressDecoder, addressEncoder } from '@flywheel/protocol';
import {
  type AccountMeta,
  AccountRole,
  type Address,
  addDecoderSizePrefix,
  assertNumberIsBetweenForCodec,
  bytesEqual,
  createEncoder,
  type Decoder,
  type Encoder,
  getArrayDecoder,
  getBytesDecoder,
  getStructDecoder,
  getU8Decoder,
  getU16Decoder,
  type Instruction,
  isSignerRole,
  isWritableRole,
  mergeRoles,
  type ReadonlyUint8Array,
} from '@solana/kit';
import type { VaultBatchTransactionAccount } from './generated/accounts.ts';
import type { MultisigMessageAddressTableLookup, VaultTransactionMessage } from './generated/types.ts';

/** An address lookup table and what it lists, in its order. */
export interface LookupTable {
  readonly address: Address;
  readonly addresses: readonly Address[];
}

/** The vault that signs a message, and the tables that the message may use. */
export interface VaultMessageContext {
  readonly vault: Address;
  readonly lookupTables: readonly LookupTable[];
  /** Accounts besides the vault that may sign: whoever executes the message has to sign with them. None by default. */
  readonly otherSigners?: readonly Address[];
}

/**
 * Compiles instructions of the vault to the bytes that `batchAddTransaction` takes. An account of a lookup table is named
 * by its index there; signers, among them the vault, stay static. Equal instructions give equal bytes.
 * @throws Error when an account signs that is neither the vault nor one of `otherSigners`.
 */
export function compileVaultMessage(instructions: readonly Instruction[], context: VaultMessageContext): Uint8Array {
  const metas = accountMetas(instructions, context);
  const isStatic = (meta: AccountMeta) => isSignerRole(meta.role) || !tableOf(meta.address, context);
  const staticMetas = ROLE_ORDER.flatMap((role) => metas.filter((meta) => meta.role === role && isStatic(meta)));
  const lookedUp = metas.filter((meta) => !isStatic(meta));
  const lookups = context.lookupTables
    .map((table) => {
      const listed = lookedUp.filter(({ address }) => tableOf(address, context) === table);
      return {
        table,
        writable: listed.filter(({ role }) => isWritableRole(role)),
        readonly: listed.filter(({ role }) => !isWritableRole(role)),
      };
    })
    .filter(({ writable, readonly }) => writable.length + readonly.length > 0);
  const order = [
    ...staticMetas,
    ...lookups.flatMap(({ writable }) => writable),
    ...lookups.flatMap(({ readonly }) => readonly),
  ];
  const indices = new Map(order.map(({ address }, index) => [address, index]));
  return encodeVaultMessage({
    numSigners: staticMetas.filter(({ role }) => isSignerRole(role)).length,
    numWritableSigners: staticMetas.filter(({ role }) => role === AccountRole.WRITABLE_SIGNER).length,
    numWritableNonSigners: staticMetas.filter(({ role }) => role === AccountRole.WRITABLE).length,
    accountKeys: staticMetas.map(({ address }) => address),
    instructions: instructions.map(({ programAddress, accounts = [], data = new Uint8Array() }) => ({
      programIdIndex: indexOf(programAddress, indices),
      accountIndexes: Uint8Array.from(accounts, ({ address }) => indexOf(address, indices)),
      data,
    })),
    addressTableLookups: lookups.map(({ table, writable, readonly }) => ({
      accountKey: table.address,
      writableIndexes: Uint8Array.from(writable, ({ address }) => table.addresses.indexOf(address)),
      readonlyIndexes: Uint8Array.from(readonly, ({ address }) => table.addresses.indexOf(address)),
    })),
  });
}

/**
 * Length in bytes of what `compileVaultMessage` makes, found without making it: this also answers for messages whose
 * counts exceed the single byte that the format has for them.
 */
export function vaultMessageSize(instructions: readonly Instruction[], context: VaultMessageContext): number {
  const metas = accountMetas(instructions, context);
  const lookedUp = metas
    .filter(({ role }) => !isSignerRole(role))
    .map(({ address }) => tableOf(address, context))
    .filter((table) => table !== undefined);
  const instructionBytes = instructions.map(
    ({ accounts = [], data }) => INSTRUCTION_BYTES + accounts.length + (data?.length ?? 0),
  );
  return (
    HEADER_BYTES +
    ADDRESS_BYTES * (metas.length - lookedUp.length) +
    instructionBytes.reduce((sum, bytes) => sum + bytes, 0) +
    LOOKUP_BYTES * new Set(lookedUp).size +
    lookedUp.length
  );
}

/**
 * Lists the accounts that `batchExecuteTransaction` takes after its own: lookup tables, static accounts, then those of
 * each table, writable before read-only. The vault goes in without its signature, which the program gives.
 * @throws Error when the message names a lookup table or an entry that is not given.
 */
export function vaultMessageAccounts(vaultMessage: ReadonlyUint8Array, context: VaultMessageContext): AccountMeta[] {
  const message = decodeVaultMessage(vaultMessage);
  const tables = message.addressTableLookups.map(({ accountKey }) => ({
    address: accountKey,
    role: AccountRole.READONLY,
  }));
  const statics = message.accountKeys.map((address, index) => ({
    address,
    role: address === context.vault ? AccountRole.WRITABLE : staticRole(message, index),
  }));
  return [...tables, ...statics, ...message.addressTableLookups.flatMap((lookup) => lookupMetas(lookup, context))];
}

/** Encodes the form that `batchAddTransaction` takes. The account stores the generated `VaultTransactionMessage`. */
export function encodeVaultMessage(message: VaultTransactionMessage): Uint8Array {
  return new Uint8Array(vaultMessageEncoder.encode(message));
}

/** @throws Error when the bytes are not a vault message, or more bytes follow it. */
export function decodeVaultMessage(bytes: ReadonlyUint8Array): VaultTransactionMessage {
  const [message, end] = vaultMessageDecoder.read(bytes, 0);
  requireEnd(bytes, end);
  return message;
}

/**
 * Counts the instructions and the lookups of a vault message, and decodes neither.
 * @throws Error when the bytes are not a vault message, or more bytes follow it.
 */
export function countVaultMessageParts(bytes: ReadonlyUint8Array): {
  readonly instructions: number;
  readonly lookups: number;
} {
  let at = ROLE_COUNTS;
  const skip = (count: number) => {
    at += count;
  };
  const readByte = () => {
    at += 1;
    return bytes[at - 1] ?? 0;
  };
  skip(ADDRESS_BYTES * readByte());
  const instructions = readByte();
  for (let index = 0; index < instructions; index++) {
    skip(1);
    skip(readByte());
    skip(readByte() + 0x100 * readByte());
  }
  const lookups = readByte();
  for (let index = 0; index < lookups; index++) {
    skip(ADDRESS_BYTES);
    skip(readByte());
    skip(readByte());
  }
  requireEnd(bytes, at);
  return { instructions, lookups };
}

/** True if the chain stores exactly the compiled vault message, byte for byte, with no ephemeral signers. */
export function vaultTransactionMatches(
  onChain: VaultBatchTransactionAccount,
  vaultMessage: ReadonlyUint8Array,
): boolean {
  return onChain.ephemeralSignerBumps.length === 0 && bytesEqual(encodeVaultMessage(onChain.message), vaultMessage);
}

function requireEnd(bytes: ReadonlyUint8Array, end: number): void {
  const more = bytes.length - end;
  if (more > 0) throw new Error(`A vault message of ${end} bytes is followed by ${more} more.`);
  if (more < 0) throw new Error(`A vault message of ${end} bytes breaks off after ${bytes.length}.`);
}

/** Counts of signers, of writable signers and of writable others. */
const ROLE_COUNTS = 3;
/** They, then the counts of accounts, instructions and lookups. */
const HEADER_BYTES = ROLE_COUNTS + 3;
/** Program index and count of accounts (one byte each), count of data bytes (two). */
const INSTRUCTION_BYTES = 4;
/** The table's address and the counts of writable and read-only indices. */
const LOOKUP_BYTES = ADDRESS_BYTES + 2;

const ROLE_ORDER = [
  AccountRole.WRITABLE_SIGNER,
  AccountRole.READONLY_SIGNER,
  AccountRole.WRITABLE,
  AccountRole.READONLY,
];

/** Every account once, in order of first mention, with the most that any instruction asks of it. */
function accountMetas(instructions: readonly Instruction[], context: VaultMessageContext): AccountMeta[] {
  const { vault, otherSigners = [] } = context;
  // The vault is always writable: it pays rent, and one role for all messages keeps their layout alike.
  const roles = new Map<Address, AccountRole>([[vault, AccountRole.WRITABLE_SIGNER]]);
  const add = (account: Address, role: AccountRole) =>
    roles.set(account, mergeRoles(roles.get(account) ?? AccountRole.READONLY, role));
  for (const { programAddress, accounts = [] } of instructions) {
    for (const { address, role } of accounts) {
      if (isSignerRole(role) && address !== vault && !otherSigners.includes(address)) {
        throw new Error(`${address} would have to sign a vault message; only the vault ${vault} can.`);
      }
      add(address, role);
    }
    add(programAddress, AccountRole.READONLY);
  }
  return Array.from(roles, ([address, role]) => ({ address, role }));
}

function tableOf(account: Address, { lookupTables }: VaultMessageContext): LookupTable | undefined {
  return lookupTables.find(({ addresses }) => addresses.includes(account));
}

function indexOf(account: Address, indices: ReadonlyMap<Address, number>): number {
  const index = indices.get(account);
  if (index === undefined) throw new Error(`The vault message does not list the account ${account}.`);
  return index;
}

function staticRole(message: VaultTransactionMessage, index: number): AccountRole {
  const { numSigners, numWritableSigners, numWritableNonSigners } = message;
  if (index < numSigners) {
    return index < numWritableSigners ? AccountRole.WRITABLE_SIGNER : AccountRole.READONLY_SIGNER;
  }
  return index - numSigners < numWritableNonSigners ? AccountRole.WRITABLE : AccountRole.READONLY;
}

function lookupMetas(lookup: MultisigMessageAddressTableLookup, { lookupTables }: VaultMessageContext): AccountMeta[] {
  const table = lookupTables.find(({ address }) => address === lookup.accountKey);
  if (!table) throw new Error(`The vault message uses the lookup table ${lookup.accountKey}, which is not given.`);
  const metas = (indexes: ReadonlyUint8Array, role: AccountRole) =>
    Array.from(indexes, (index): AccountMeta => {
      const address = table.addresses[index];
      if (address !== undefined) return { address, role };
      throw new Error(`The vault message uses entry ${index} of a lookup table of ${table.addresses.length}.`);
    });
  return [
    ...metas(lookup.writableIndexes, AccountRole.WRITABLE),
    ...metas(lookup.readonlyIndexes, AccountRole.READONLY),
  ];
}

/**
 * The instruction's form of the message: Squads' SmallVec counts in one byte, in two for an instruction's data. It is written by
 * hand, because every pipeline of every init needs it, and a struct of kit's encoders takes ten times as long
 * (docs/decisions/0089-init-in-few-statements.md).
 */
export const vaultMessageEncoder: Encoder<VaultTransactionMessage> = /* @__PURE__ */ createEncoder({
  getSizeFromValue: ({ accountKeys, instructions, addressTableLookups }: VaultTransactionMessage) =>
    instructions.reduce(
      (sum, { accountIndexes, data }) => sum + INSTRUCTION_BYTES + accountIndexes.length + data.length,
      addressTableLookups.reduce(
        (sum, { writableIndexes, readonlyIndexes }) =>
          sum + LOOKUP_BYTES + writableIndexes.length + readonlyIndexes.length,
        HEADER_BYTES + ADDRESS_BYTES * accountKeys.length,
      ),
    ),
  write: (message, bytes, offset) => {
    let at = offset;
    const writeByte = (value: number) => {
      assertNumberIsBetweenForCodec('u8', 0, 0xff, value);
      bytes[at++] = value;
    };
    const writeBytes = (value: ReadonlyUint8Array) => {
      bytes.set(value, at);
      at += value.length;
    };
    const writeAddress = (value: Address) => {
      at = addressEncoder.write(value, bytes, at);
    };
    writeByte(message.numSigners);
    writeByte(message.numWritableSigners);
    writeByte(message.numWritableNonSigners);
    writeByte(message.accountKeys.length);
    for (const key of message.accountKeys) writeAddress(key);
    writeByte(message.instructions.length);
    for (const { programIdIndex, accountIndexes, data } of message.instructions) {
      writeByte(programIdIndex);
      writeByte(accountIndexes.length);
      writeBytes(accountIndexes);
      assertNumberIsBetweenForCodec('u16', 0, 0xffff, data.length);
      writeByte(data.length & 0xff);
      writeByte(data.length >> 8);
      writeBytes(data);
    }
    writeByte(message.addressTableLookups.length);
    for (const { accountKey, writableIndexes, readonlyIndexes } of message.addressTableLookups) {
      writeAddress(accountKey);
      for (const indexes of [writableIndexes, readonlyIndexes]) {
        writeByte(indexes.length);
        writeBytes(indexes);
      }
    }
    return at;
  },
});

/** Decodes a vault message from the bytes that Squads stores. */
export const vaultMessageDecoder: Decoder<VaultTransactionMessage> = /* @__PURE__ */ (() => {
  const small = { size: getU8Decoder() };
  const indexes = addDecoderSizePrefix(getBytesDecoder(), getU8Decoder());
  return getStructDecoder([
    ['numSigners', getU8Decoder()],
    ['numWritableSigners', getU8Decoder()],
    ['numWritableNonSigners', getU8Decoder()],
    ['accountKeys', getArrayDecoder(addressDecoder, small)],
    [
      'instructions',
      getArrayDecoder(
        getStructDecoder([
          ['programIdIndex', getU8Decoder()],
          ['accountIndexes', indexes],
          ['data', addDecoderSizePrefix(getBytesDecoder(), getU16Decoder())],
        ]),
        small,
      ),
    ],
    [
      'addressTableLookups',
      getArrayDecoder(
        getStructDecoder([
          ['accountKey', addressDecoder],
          ['writableIndexes', indexes],
          ['readonlyIndexes', indexes],
        ]),
        small,
      ),
    ],
  ]);
})();
