import { encodeBase58 } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { ByteReader } from './byte-reader.ts';

const BLOCKHASH_BYTES = 32;
/** First bytes of messages by version. Legacy messages begin with the number of signers, which is smaller. */
export const V0_FIRST_BYTE = 0x80;
/** Also the first byte of a transaction of version 1: its signatures come last, without a count. */
export const V1_FIRST_BYTE = 0x81;
/**
 * Bits of version 1's config mask (SIMD-0385), in the order of the values: the fee is a u64 with two bits, the others
 * are u32.
 */
export const CONFIG_FEE = 0b0_0011;
export const CONFIG_COMPUTE_UNITS = 0b0_0100;
const CONFIG_LOADED_BYTES = 0b0_1000;
export const CONFIG_HEAP = 0b1_0000;
const CONFIG_KNOWN = CONFIG_FEE | CONFIG_COMPUTE_UNITS | CONFIG_LOADED_BYTES | CONFIG_HEAP;

/** A parsed message, before its content is checked. */
export interface Message {
  readonly version: 'legacy' | 0 | 1;
  readonly header: MessageHeader;
  readonly staticAddresses: readonly Address[];
  /** Offset of the addresses in the message. */
  readonly addressesOffset: number;
  /** Recent blockhash or durable nonce value, with its offset in the message. */
  readonly lifetimeToken: string;
  readonly lifetimeOffset: number;
  readonly instructions: readonly WireInstruction[];
  readonly lookups: readonly AddressLookup[];
  /** Only for version 1: limits that older formats set in compute budget instructions. */
  readonly config: V1Config | null;
}

export interface MessageHeader {
  readonly numSignerAccounts: number;
  readonly numReadonlySignerAccounts: number;
  readonly numReadonlyNonSignerAccounts: number;
}

export interface AddressLookup {
  readonly lookupTableAddress: Address;
  readonly writableIndexes: readonly number[];
  readonly readonlyIndexes: readonly number[];
}

export interface WireInstruction {
  readonly programAddressIndex: number;
  readonly accountIndices: readonly number[];
  readonly data: Uint8Array;
}

export interface V1Config {
  /** null: not set, which counts as zero; the heap then has its default size. */
  readonly priorityFeeLamports: bigint | null;
  readonly computeUnitLimit: number | null;
  readonly loadedBytesLimit: number | null;
  readonly heapBytes: number | null;
}

/** Parses a message of any version. `first` is its first byte. @throws RangeError if the bytes are not a message */
export function readMessage(reader: ByteReader, first: number, start: number): Message {
  if (first < V0_FIRST_BYTE) return readOlderMessage(reader, 'legacy', start);
  reader.u8();
  if (first === V0_FIRST_BYTE) return readOlderMessage(reader, 0, start);
  if (first === V1_FIRST_BYTE) return readV1Message(reader, start);
  throw new RangeError(`message version ${first - V0_FIRST_BYTE} does not exist`);
}

function readOlderMessage(reader: ByteReader, version: 'legacy' | 0, start: number): Message {
  const header = readHeader(reader);
  const addressCount = reader.shortU16();
  const addressesOffset = reader.offset() - start;
  const staticAddresses = times(addressCount, reader.address);
  const lifetimeOffset = reader.offset() - start;
  const lifetimeToken = readBlockhash(reader);
  const instructions = times(reader.shortU16(), () => ({
    programAddressIndex: reader.u8(),
    accountIndices: [...reader.bytes(reader.shortU16())],
    data: reader.bytes(reader.shortU16()),
  }));
  const lookups =
    version === 'legacy'
      ? []
      : times(reader.shortU16(), () => ({
          lookupTableAddress: reader.address(),
          writableIndexes: [...reader.bytes(reader.shortU16())],
          readonlyIndexes: [...reader.bytes(reader.shortU16())],
        }));
  const found = { header, staticAddresses, addressesOffset, lifetimeToken, lifetimeOffset, instructions };
  return { ...found, version, lookups, config: null };
}

function readV1Message(reader: ByteReader, start: number): Message {
  const header = readHeader(reader);
  const mask = reader.u32();
  const lifetimeOffset = reader.offset() - start;
  const lifetimeToken = readBlockhash(reader);
  const instructionCount = reader.u8();
  const addressCount = reader.u8();
  const addressesOffset = reader.offset() - start;
  const staticAddresses = times(addressCount, reader.address);
  const config = readConfig(reader, mask);
  const shapes = times(instructionCount, () => ({
    programAddressIndex: reader.u8(),
    accountCount: reader.u8(),
    byteCount: reader.u16(),
  }));
  const instructions = shapes.map(({ programAddressIndex, accountCount, byteCount }) => ({
    programAddressIndex,
    accountIndices: [...reader.bytes(accountCount)],
    data: reader.bytes(byteCount),
  }));
  const found = { header, staticAddresses, addressesOffset, lifetimeToken, lifetimeOffset, instructions };
  return { ...found, version: 1, lookups: [], config };
}

function readHeader(reader: ByteReader): MessageHeader {
  return {
    numSignerAccounts: reader.u8(),
    numReadonlySignerAccounts: reader.u8(),
    numReadonlyNonSignerAccounts: reader.u8(),
  };
}

function readBlockhash(reader: ByteReader): string {
  return encodeBase58(reader.bytes(BLOCKHASH_BYTES));
}

function readConfig(reader: ByteReader, mask: number): V1Config {
  const fee = mask & CONFIG_FEE;
  if ((mask & ~CONFIG_KNOWN) !== 0 || (fee !== 0 && fee !== CONFIG_FEE)) {
    throw new RangeError(`config mask 0x${mask.toString(16)} is not known`);
  }
  return {
    priorityFeeLamports: fee ? reader.u64() : null,
    computeUnitLimit: mask & CONFIG_COMPUTE_UNITS ? reader.u32() : null,
    loadedBytesLimit: mask & CONFIG_LOADED_BYTES ? reader.u32() : null,
    heapBytes: mask & CONFIG_HEAP ? reader.u32() : null,
  };
}

function times<T>(count: number, read: () => T): T[] {
  return Array.from({ length: count }, read);
}
