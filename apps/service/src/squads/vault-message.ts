import {
  type AccountMeta,
  AccountRole,
  type Address,
  addDecoderSizePrefix,
  addEncoderSizePrefix,
  combineCodec,
  getAddressDecoder,
  getArrayDecoder,
  getArrayEncoder,
  getBytesDecoder,
  getBytesEncoder,
  getStructDecoder,
  getStructEncoder,
  getU8Decoder,
  getU8Encoder,
  getU16Decoder,
  getU16Encoder,
  type Instruction,
  isSignerRole,
  mergeRoles,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { addressEncoder } from '../model/address-encoder.ts';
import type { Multisig } from '../model/project.ts';

type VaultMessageOwner = Pick<Multisig, 'vault' | 'lookupTable'>;

/** Squads' TransactionMessage: what one transaction of a batch does, accounts by index. */
export interface VaultMessage {
  readonly signerCount: number;
  readonly writableSignerCount: number;
  readonly writableNonSignerCount: number;
  /** Writable signers, read-only signers, writable, read-only. */
  readonly staticAccounts: readonly Address[];
  readonly instructions: readonly VaultInstruction[];
  readonly lookups: readonly VaultLookup[];
}

export interface VaultInstruction {
  readonly programIndex: number;
  readonly accountIndices: readonly number[];
  readonly data: ReadonlyUint8Array;
}

export interface VaultLookup {
  readonly lookupTable: Address;
  readonly writableIndices: readonly number[];
  readonly readonlyIndices: readonly number[];
}

/**
 * Instructions of the vault to the bytes that `batchAddTransaction` stores. Accounts in the project's lookup table are
 * named by index; the vault stays static because it signs. Equal instructions give equal bytes.
 * @throws Error when an account other than the vault signs, since nobody could ever sign for it.
 */
export function compileVaultMessage(instructions: readonly Instruction[], multisig: VaultMessageOwner): Uint8Array {
  const roles = accountRoles(instructions, multisig.vault);
  const tableIndices = new Map(multisig.lookupTable.addresses.map((listed, index) => [listed, index]));
  const others = [...roles].filter(([account]) => account !== multisig.vault);
  const withRole = (wanted: AccountRole, lookedUp: boolean) =>
    others.flatMap(([account, role]) => (role === wanted && tableIndices.has(account) === lookedUp ? [account] : []));

  const writable = withRole(AccountRole.WRITABLE, false);
  const staticAccounts = [multisig.vault, ...writable, ...withRole(AccountRole.READONLY, false)];
  const lookedUpWritable = withRole(AccountRole.WRITABLE, true);
  const lookedUpReadonly = withRole(AccountRole.READONLY, true);
  const order = [...staticAccounts, ...lookedUpWritable, ...lookedUpReadonly];
  const indices = new Map(order.map((account, index) => [account, index]));
  const lookup: VaultLookup = {
    lookupTable: multisig.lookupTable.address,
    writableIndices: lookedUpWritable.map((account) => indexOf(account, tableIndices)),
    readonlyIndices: lookedUpReadonly.map((account) => indexOf(account, tableIndices)),
  };

  return encodeVaultMessage({
    signerCount: 1,
    writableSignerCount: 1,
    writableNonSignerCount: writable.length,
    staticAccounts,
    instructions: instructions.map(({ programAddress, accounts = [], data = new Uint8Array() }) => ({
      programIndex: indexOf(programAddress, indices),
      accountIndices: accounts.map((account) => indexOf(account.address, indices)),
      data,
    })),
    lookups: lookedUpWritable.length + lookedUpReadonly.length === 0 ? [] : [lookup],
  });
}

/**
 * The length of the bytes that `compileVaultMessage` makes, found without making them: it also answers for messages whose
 * counts outgrow the single byte that the format has for them.
 */
export function vaultMessageSize(instructions: readonly Instruction[], multisig: VaultMessageOwner): number {
  const listed = new Set(multisig.lookupTable.addresses);
  const roles = [...accountRoles(instructions, multisig.vault)];
  const lookedUpCount = roles.filter(([account, role]) => !isSignerRole(role) && listed.has(account)).length;
  const instructionBytes = instructions.map(
    ({ accounts = [], data }) => INSTRUCTION_BYTES + accounts.length + (data?.length ?? 0),
  );
  return (
    HEADER_BYTES +
    ADDRESS_BYTES * (roles.length - lookedUpCount) +
    instructionBytes.reduce((sum, bytes) => sum + bytes, 0) +
    (lookedUpCount === 0 ? 0 : LOOKUP_BYTES + lookedUpCount)
  );
}

/** @throws Error when the bytes are no vault message or go on after it. */
export function decodeVaultMessage(bytes: ReadonlyUint8Array): VaultMessage {
  const [message, end] = codec.read(bytes, 0);
  if (end !== bytes.length)
    throw new Error(`A vault message of ${end} bytes is followed by ${bytes.length - end} more.`);
  return message;
}

/**
 * What `batchExecuteTransaction` takes after its own accounts: lookup tables, static accounts, looked-up writable, then
 * looked-up read-only. The vault goes in without its signature, which the program gives.
 * @throws Error when the message names a lookup table other than the project's, or a place that the table lacks.
 */
export function vaultMessageAccounts(vaultMessage: ReadonlyUint8Array, multisig: VaultMessageOwner): AccountMeta[] {
  const message = decodeVaultMessage(vaultMessage);
  const lookedUp = (indices: (lookup: VaultLookup) => readonly number[], role: AccountRole) =>
    message.lookups.flatMap((lookup) =>
      indices(lookup).map((index): AccountMeta => ({ address: tableEntry(lookup, index, multisig), role })),
    );
  return [
    ...message.lookups.map((lookup): AccountMeta => ({ address: lookup.lookupTable, role: AccountRole.READONLY })),
    ...message.staticAccounts.map((account, index): AccountMeta => {
      const isWritable = isWritableStatic(message, index);
      return { address: account, role: isWritable ? AccountRole.WRITABLE : AccountRole.READONLY };
    }),
    ...lookedUp((lookup) => lookup.writableIndices, AccountRole.WRITABLE),
    ...lookedUp((lookup) => lookup.readonlyIndices, AccountRole.READONLY),
  ];
}

export function encodeVaultMessage(message: VaultMessage): Uint8Array {
  return new Uint8Array(
    codec.encode({
      ...message,
      staticAccounts: [...message.staticAccounts],
      instructions: message.instructions.map(({ accountIndices, ...rest }) => ({
        ...rest,
        accountIndices: [...accountIndices],
      })),
      lookups: message.lookups.map(({ lookupTable, writableIndices, readonlyIndices }) => ({
        lookupTable,
        writableIndices: [...writableIndices],
        readonlyIndices: [...readonlyIndices],
      })),
    }),
  );
}

const ADDRESS_BYTES = 32;
/** Three counts of roles, then the counts of accounts, instructions and lookups. */
const HEADER_BYTES = 6;
/** Program index, count of accounts (one byte each) and of data bytes (two). */
const INSTRUCTION_BYTES = 4;
/** The table's address and the counts of writable and read-only indices. */
const LOOKUP_BYTES = ADDRESS_BYTES + 2;

/** Squads' SmallVec: a count of one byte, of two for an instruction's data. */
const small = { size: getU8Encoder() };
const smallRead = { size: getU8Decoder() };

const codec = combineCodec(
  getStructEncoder([
    ['signerCount', getU8Encoder()],
    ['writableSignerCount', getU8Encoder()],
    ['writableNonSignerCount', getU8Encoder()],
    ['staticAccounts', getArrayEncoder(addressEncoder, small)],
    [
      'instructions',
      getArrayEncoder(
        getStructEncoder([
          ['programIndex', getU8Encoder()],
          ['accountIndices', getArrayEncoder(getU8Encoder(), small)],
          ['data', addEncoderSizePrefix(getBytesEncoder(), getU16Encoder())],
        ]),
        small,
      ),
    ],
    [
      'lookups',
      getArrayEncoder(
        getStructEncoder([
          ['lookupTable', addressEncoder],
          ['writableIndices', getArrayEncoder(getU8Encoder(), small)],
          ['readonlyIndices', getArrayEncoder(getU8Encoder(), small)],
        ]),
        small,
      ),
    ],
  ]),
  getStructDecoder([
    ['signerCount', getU8Decoder()],
    ['writableSignerCount', getU8Decoder()],
    ['writableNonSignerCount', getU8Decoder()],
    ['staticAccounts', getArrayDecoder(getAddressDecoder(), smallRead)],
    [
      'instructions',
      getArrayDecoder(
        getStructDecoder([
          ['programIndex', getU8Decoder()],
          ['accountIndices', getArrayDecoder(getU8Decoder(), smallRead)],
          ['data', addDecoderSizePrefix(getBytesDecoder(), getU16Decoder())],
        ]),
        smallRead,
      ),
    ],
    [
      'lookups',
      getArrayDecoder(
        getStructDecoder([
          ['lookupTable', getAddressDecoder()],
          ['writableIndices', getArrayDecoder(getU8Decoder(), smallRead)],
          ['readonlyIndices', getArrayDecoder(getU8Decoder(), smallRead)],
        ]),
        smallRead,
      ),
    ],
  ]),
);

/** Every account once, in order of first mention, with the most it is asked for. */
function accountRoles(instructions: readonly Instruction[], vault: Address): ReadonlyMap<Address, AccountRole> {
  // The vault is writable throughout: it pays rent, and one role for all messages keeps their layout alike.
  const roles = new Map<Address, AccountRole>([[vault, AccountRole.WRITABLE_SIGNER]]);
  const add = (account: Address, role: AccountRole) =>
    roles.set(account, mergeRoles(roles.get(account) ?? AccountRole.READONLY, role));
  for (const { programAddress, accounts = [] } of instructions) {
    for (const { address, role } of accounts) {
      if (isSignerRole(role) && address !== vault) {
        throw new Error(`${address} would have to sign a vault message; only the vault ${vault} can.`);
      }
      add(address, role);
    }
    add(programAddress, AccountRole.READONLY);
  }
  return roles;
}

function indexOf(account: Address, indices: ReadonlyMap<Address, number>): number {
  const index = indices.get(account);
  if (index === undefined) throw new Error(`Account ${account} has no place in the vault message.`);
  return index;
}

function isWritableStatic(message: VaultMessage, index: number): boolean {
  if (index < message.signerCount) return index < message.writableSignerCount;
  return index - message.signerCount < message.writableNonSignerCount;
}

function tableEntry(lookup: VaultLookup, index: number, { lookupTable }: VaultMessageOwner): Address {
  if (lookup.lookupTable !== lookupTable.address) {
    throw new Error(`The vault message uses the lookup table ${lookup.lookupTable}, not ${lookupTable.address}.`);
  }
  const entry = lookupTable.addresses[index];
  if (entry === undefined) {
    throw new Error(`The vault message uses place ${index} of a lookup table of ${lookupTable.addresses.length}.`);
  }
  return entry;
}
