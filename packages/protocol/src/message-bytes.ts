import type {
  Address,
  CompiledTransactionMessage,
  CompiledTransactionMessageWithLifetime,
  ReadonlyUint8Array,
  Transaction,
  TransactionMessageBytes,
} from '@solana/kit';
import { ADDRESS_BYTES, addressEncoder } from './addresses.ts';
import { decodeBase58 } from './base58.ts';

/** A message of any version, as kit's `compileTransactionMessage` returns it. */
export type CompiledMessage = CompiledTransactionMessage & CompiledTransactionMessageWithLifetime;

/** Makes a transaction of a compiled message, without signatures. */
export function unsignedTransaction(message: CompiledMessage): Transaction {
  const { staticAccounts, header } = message;
  const signers = staticAccounts.slice(0, header.numSignerAccounts);
  return {
    messageBytes: encodeMessage(message),
    signatures: Object.fromEntries(signers.map((signer) => [signer, null])),
  };
}

/**
 * Encodes a compiled message like kit's encoder. It writes the bytes itself: kit computes each address with large
 * integers, twice, which takes much longer (docs/decisions/0072-addresses-without-large-integers.md).
 * @throws RangeError for more accounts or instructions, or longer data, than a message can have.
 */
export function encodeMessage(message: CompiledMessage): TransactionMessageBytes {
  const writer = createWriter();
  if (message.version !== 'legacy') writer.u8(VERSION_FLAG | message.version);
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = message.header;
  for (const count of [numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts]) writer.u8(count);
  if (message.version === 1) writeV1(writer, message);
  else writeOlder(writer, message);
  return writer.written() as ReadonlyUint8Array as TransactionMessageBytes; // the layout of a message
}

/** The first bit of a message that is not a legacy one. */
const VERSION_FLAG = 0x80;

function writeOlder(writer: Writer, message: Exclude<CompiledMessage, { version: 1 }>): void {
  writer.shortU16(message.staticAccounts.length);
  for (const account of message.staticAccounts) writer.address(account);
  writer.token(message.lifetimeToken);
  writer.shortU16(message.instructions.length);
  for (const { programAddressIndex, accountIndices = [], data = NO_BYTES } of message.instructions) {
    writer.u8(programAddressIndex);
    writer.shortU16(accountIndices.length);
    writer.indexes(accountIndices);
    writer.shortU16(data.length);
    writer.bytes(data);
  }
  if (message.version === 'legacy') return;
  const { addressTableLookups = [] } = message;
  writer.shortU16(addressTableLookups.length);
  for (const { lookupTableAddress, writableIndexes, readonlyIndexes } of addressTableLookups) {
    writer.address(lookupTableAddress);
    for (const indexes of [writableIndexes, readonlyIndexes]) {
      writer.shortU16(indexes.length);
      writer.indexes(indexes);
    }
  }
}

const NO_BYTES = /* @__PURE__ */ new Uint8Array();

/** Writes what follows the header in version 1 (SIMD-0385). */
function writeV1(writer: Writer, message: Extract<CompiledMessage, { version: 1 }>): void {
  writer.u32(message.configMask);
  writer.token(message.lifetimeToken);
  writer.u8(message.numInstructions);
  writer.u8(message.numStaticAccounts);
  for (const account of message.staticAccounts) writer.address(account);
  for (const { kind, value } of message.configValues) {
    if (kind === 'u64') writer.u64(value);
    else writer.u32(value);
  }
  for (const { programAccountIndex, numInstructionAccounts, numInstructionDataBytes } of message.instructionHeaders) {
    writer.u8(programAccountIndex);
    writer.u8(numInstructionAccounts);
    writer.u16(numInstructionDataBytes);
  }
  for (const { instructionAccountIndices, instructionData } of message.instructionPayloads) {
    writer.indexes(instructionAccountIndices);
    writer.bytes(instructionData);
  }
}

type Writer = ReturnType<typeof createWriter>;

/** Most messages fit; the others take a larger buffer. */
const USUAL_BYTES = 1_280;

/** Writes integers in little-endian order. */
function createWriter() {
  let buffer = new Uint8Array(USUAL_BYTES);
  let view = new DataView(buffer.buffer);
  let end = 0;
  /** Makes room for so many bytes, and returns where they begin. To be called before `buffer` or `view` is read. */
  const take = (count: number): number => {
    const start = end;
    end += count;
    if (end > buffer.length) {
      const larger = new Uint8Array(2 * end);
      larger.set(buffer);
      buffer = larger;
      view = new DataView(buffer.buffer);
    }
    return start;
  };
  const u8 = (value: number): void => {
    requireFits(value, 0xff);
    const start = take(1);
    view.setUint8(start, value);
  };
  const bytes = (values: ArrayLike<number>): void => {
    const start = take(values.length);
    buffer.set(values, start);
  };
  return {
    u8,
    u16: (value: number): void => {
      requireFits(value, 0xffff);
      const start = take(2);
      view.setUint16(start, value, true);
    },
    u32: (value: number): void => {
      const start = take(4);
      view.setUint32(start, value, true);
    },
    u64: (value: bigint): void => {
      const start = take(8);
      view.setBigUint64(start, value, true);
    },
    /** Seven bits a byte, the lowest first; the eighth bit says that another byte follows. */
    shortU16: (value: number): void => {
      let left = value;
      for (; left >= 0x80; left >>= 7) u8((left & 0x7f) | 0x80);
      u8(left);
    },
    bytes,
    indexes: (values: readonly number[]): void => {
      for (const value of values) u8(value);
    },
    address: (address: Address): void => {
      const start = take(ADDRESS_BYTES);
      addressEncoder.write(address, buffer, start);
    },
    /** Writes a blockhash or the value of a nonce. */
    token: (text: string): void => {
      const decoded = decodeBase58(text);
      if (decoded?.length !== ADDRESS_BYTES) throw new Error(`${text} is no blockhash.`);
      bytes(decoded);
    },
    written: (): Uint8Array => buffer.slice(0, end),
  };
}

/** A view would keep the low bits of a larger number: the index of another account. */
function requireFits(value: number, max: number): void {
  if (value > max) throw new RangeError(`A message has no room for ${value}; ${max} is the maximum.`);
}
