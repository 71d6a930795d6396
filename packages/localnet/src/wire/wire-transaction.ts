import { encodeBase58, MAX_TRANSACTION_BYTES, SIGNATURE_BYTES } from '@flywheel/protocol';
import type {
  Address,
  ReadonlyUint8Array,
  Signature,
  SignatureBytes,
  Transaction,
  TransactionMessageBytes,
} from '@solana/kit';
import { type ByteReader, createByteReader } from './byte-reader.ts';
import { type Message, type MessageHeader, readMessage, V1_FIRST_BYTE } from './message-layout.ts';

/** Maxima of version 1 (SIMD-0385). */
const V1_ADDRESSES = 64;
const V1_INSTRUCTIONS = 64;
/** Maximum of accounts, because their indices are single bytes. */
const ACCOUNTS = 256;

/**
 * A parsed and well-formed transaction. Checks are as strict as a validator's, because bytes that the SVM cannot read
 * would end the process. Signatures are not verified.
 */
export interface WireTransaction extends Message {
  readonly bytes: Uint8Array;
  readonly transaction: Transaction;
  /** Fee payer's signature in base58, which identifies the transaction. */
  readonly signature: Signature;
  /** Signatures of the signers in order; null for zeros. */
  readonly signatures: readonly (SignatureBytes | null)[];
  readonly feePayer: Address;
}

/** Reason why bytes are not a transaction: they cannot be parsed, are too long, or contradict themselves. */
export class WireTransactionError extends Error {
  override readonly name = 'WireTransactionError';
  readonly fault: 'undecodable' | 'too large' | 'unsanitary';

  constructor(fault: WireTransactionError['fault'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

/** Parses a wire transaction. @throws WireTransactionError. */
export function parseWireTransaction(bytes: Uint8Array): WireTransaction {
  const limit = MAX_TRANSACTION_BYTES[bytes[0] === V1_FIRST_BYTE ? 1 : 0];
  if (bytes.length > limit) {
    throw new WireTransactionError('too large', `too large: ${bytes.length} bytes (max: ${limit} bytes)`);
  }
  const { message, messageBytes, signatures } = decode(bytes);
  sanitize(message, signatures.length);
  const [feePayer] = message.staticAddresses;
  const [first] = signatures;
  if (feePayer === undefined || first === undefined) throw unsanitary('a transaction needs a fee payer');
  const maybeSignatures = signatures.map((signature) => (signature.some((byte) => byte !== 0) ? signature : null));
  const transaction = {
    messageBytes: messageBytes as ReadonlyUint8Array as TransactionMessageBytes, // they were read as a message
    signatures: Object.fromEntries(
      maybeSignatures.map((signature, index) => [message.staticAddresses[index], signature]),
    ),
  };
  return {
    ...message,
    bytes,
    transaction,
    signature: encodeBase58(first) as Signature, // 64 bytes by construction
    signatures: maybeSignatures,
    feePayer,
  };
}

/** Replaces the blockhash of a transaction, which makes its signatures invalid. */
export function withLifetime({ transaction, lifetimeOffset }: WireTransaction, blockhash: Uint8Array): Transaction {
  const messageBytes = new Uint8Array(transaction.messageBytes);
  messageBytes.set(blockhash, lifetimeOffset);
  return { ...transaction, messageBytes: messageBytes as ReadonlyUint8Array as TransactionMessageBytes }; // same layout
}

/** Returns true if the header makes the static account at an index writable. */
export function isStaticWritable(header: MessageHeader, staticCount: number, index: number): boolean {
  return index < header.numSignerAccounts
    ? index < header.numSignerAccounts - header.numReadonlySignerAccounts
    : index < staticCount - header.numReadonlyNonSignerAccounts;
}

function decode(bytes: Uint8Array) {
  const reader = createByteReader(bytes);
  try {
    const signaturesFirst = bytes[0] !== V1_FIRST_BYTE;
    const before = signaturesFirst ? readSignatures(reader, reader.shortU16()) : [];
    const start = reader.offset();
    const message = readMessage(reader, bytes[start] ?? 0, start);
    if (signaturesFirst === (message.version === 1)) throw new RangeError('version 1 puts its message first');
    const messageBytes = bytes.subarray(start, reader.offset());
    const signatures = signaturesFirst ? before : readSignatures(reader, message.header.numSignerAccounts);
    if (!reader.atEnd()) throw new RangeError(`${bytes.length - reader.offset()} bytes too many`);
    return { message, messageBytes, signatures };
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new WireTransactionError('undecodable', cause.message, { cause });
  }
}

function readSignatures(reader: ByteReader, count: number): SignatureBytes[] {
  return Array.from({ length: count }, () => reader.bytes(SIGNATURE_BYTES) as ReadonlyUint8Array as SignatureBytes); // 64
}

function sanitize({ version, header, staticAddresses, lookups, instructions }: Message, signatureCount: number): void {
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = header;
  if (signatureCount !== numSignerAccounts) {
    throw unsanitary(`${signatureCount} signatures, the header asks for ${numSignerAccounts}`);
  }
  if (numReadonlySignerAccounts >= numSignerAccounts) throw unsanitary('the fee payer must sign and be writable');
  if (numSignerAccounts + numReadonlyNonSignerAccounts > staticAddresses.length) {
    throw unsanitary(`the header speaks of more than ${staticAddresses.length} accounts`);
  }
  if (version === 1 && staticAddresses.length > V1_ADDRESSES) {
    throw unsanitary(`${staticAddresses.length} addresses, version 1 allows ${V1_ADDRESSES}`);
  }
  if (version === 1 && instructions.length > V1_INSTRUCTIONS) {
    throw unsanitary(`${instructions.length} instructions, version 1 allows ${V1_INSTRUCTIONS}`);
  }
  const looked = lookups.map((lookup) => lookup.writableIndexes.length + lookup.readonlyIndexes.length);
  if (looked.includes(0)) throw unsanitary('a lookup table is named and not used');
  const total = staticAddresses.length + looked.reduce((sum, count) => sum + count, 0);
  if (total > ACCOUNTS) throw unsanitary(`${total} accounts, at most ${ACCOUNTS} can be named`);
  for (const [index, instruction] of instructions.entries()) {
    const program = instruction.programAddressIndex;
    if (program === 0 || program >= staticAddresses.length) throw unsanitary(`instruction ${index} names no program`);
    if (instruction.accountIndices.some((account) => account >= total)) {
      throw unsanitary(`instruction ${index} names an account beyond ${total}`);
    }
  }
}

function unsanitary(reason: string): WireTransactionError {
  return new WireTransactionError('unsanitary', reason);
}
