import {
  type Address,
  type Blockhash,
  getBase58Decoder,
  getBase58Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  getTransactionEncoder,
  type ReadonlyUint8Array,
  type Signature,
  type SignatureBytes,
  type Transaction,
  type TransactionMessageBytes,
} from '@solana/kit';

/** Legacy and version 0: the IPv6 minimum MTU less headers (solana-packet, PACKET_DATA_SIZE). */
const PACKET_BYTES = 1232;
/** Version 1 (SIMD-0385). */
const V1_BYTES = 4096;
const V1_ADDRESSES = 64;
const V1_INSTRUCTIONS = 64;
/** Version 1 sets this byte first; the older formats begin with the number of signatures, which is smaller. */
const V1_FIRST_BYTE = 0x81;
/** Account indices are single bytes. */
const ACCOUNTS = 256;
const ADDRESS_BYTES = 32;

/** One transaction as it came over the wire, taken apart and found well formed. Signatures are not verified here. */
export interface WireTransaction {
  readonly bytes: Uint8Array;
  readonly transaction: Transaction;
  readonly version: 'legacy' | 0 | 1;
  /** The fee payer's signature in base58, by which the ledger knows the transaction. */
  readonly signature: Signature;
  readonly signatures: readonly (SignatureBytes | null)[];
  readonly header: MessageHeader;
  readonly feePayer: Address;
  /** A recent blockhash, or the value of a durable nonce. */
  readonly lifetimeToken: string;
  readonly staticAddresses: readonly Address[];
  readonly lookups: readonly AddressLookup[];
  readonly instructions: readonly WireInstruction[];
  /** Version 1 only: what compute-budget instructions say in the older formats. */
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
  readonly priorityFeeLamports: bigint;
  readonly computeUnitLimit: number;
}

/** Why bytes are no transaction: they do not parse, they are too long, or what they say contradicts itself. */
export class WireTransactionError extends Error {
  override readonly name = 'WireTransactionError';
  readonly fault: 'undecodable' | 'too large' | 'unsanitary';

  constructor(fault: WireTransactionError['fault'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

/** Takes a wire transaction apart. Throws WireTransactionError. */
export function parseWireTransaction(bytes: Uint8Array): WireTransaction {
  const limit = bytes[0] === V1_FIRST_BYTE ? V1_BYTES : PACKET_BYTES;
  if (bytes.length > limit) {
    throw new WireTransactionError('too large', `too large: ${bytes.length} bytes (max: ${limit} bytes)`);
  }
  const { transaction, message } = decode(bytes);
  const v1 = message.version === 1 ? message : null;
  const instructions = v1
    ? v1.instructionHeaders.map((header, index) => ({
        programAddressIndex: header.programAccountIndex,
        accountIndices: v1.instructionPayloads[index]?.instructionAccountIndices ?? [],
        data: new Uint8Array(v1.instructionPayloads[index]?.instructionData ?? []),
      }))
    : (message.version === 1 ? [] : message.instructions).map((instruction) => ({
        programAddressIndex: instruction.programAddressIndex,
        accountIndices: instruction.accountIndices ?? [],
        data: new Uint8Array(instruction.data ?? []),
      }));
  const signatures = message.staticAccounts
    .slice(0, message.header.numSignerAccounts)
    .map((address) => transaction.signatures[address] ?? null);
  const [feePayer] = message.staticAccounts;
  if (feePayer === undefined) throw unsanitary('a transaction needs a fee payer');
  const parsed = {
    bytes,
    transaction,
    version: message.version,
    signature: getBase58Decoder().decode(signatures[0] ?? new Uint8Array(64)) as Signature, // 64 bytes by construction
    signatures,
    header: message.header,
    feePayer,
    lifetimeToken: message.lifetimeToken,
    staticAddresses: message.staticAccounts,
    lookups: message.version === 0 ? (message.addressTableLookups ?? []) : [],
    instructions,
    config: v1 ? readConfig(v1.configMask, v1.configValues) : null,
  };
  sanitize(parsed);
  return parsed;
}

/** The transaction as it would be with another blockhash; its signatures are no longer valid for it. */
export function withLifetime(
  { transaction, version, staticAddresses }: WireTransaction,
  blockhash: Blockhash,
): Transaction {
  const messageBytes = new Uint8Array(transaction.messageBytes);
  // Version 1: prefix, header, config mask. Before it: (prefix,) header, count of addresses in 7-bit groups, addresses.
  const countBytes = staticAddresses.length < 128 ? 1 : 2;
  const addressBytes = countBytes + staticAddresses.length * ADDRESS_BYTES;
  const offset = version === 1 ? 1 + 3 + 4 : (version === 0 ? 1 : 0) + 3 + addressBytes;
  messageBytes.set(getBase58Encoder().encode(blockhash), offset);
  return { ...transaction, messageBytes: messageBytes as ReadonlyUint8Array as TransactionMessageBytes }; // same layout
}

/** Whether the account at an index of the static list may be written, as the header says. */
export function isStaticWritable(header: MessageHeader, staticCount: number, index: number): boolean {
  return index < header.numSignerAccounts
    ? index < header.numSignerAccounts - header.numReadonlySignerAccounts
    : index < staticCount - header.numReadonlyNonSignerAccounts;
}

function decode(bytes: Uint8Array) {
  try {
    const transaction = getTransactionDecoder().decode(bytes);
    const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
    // The decoders ignore what follows the last field, a cluster does not.
    if (getTransactionEncoder().encode(transaction).length !== bytes.length) throw new Error('trailing bytes');
    return { transaction, message };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new WireTransactionError('undecodable', `failed to deserialize transaction: ${reason}`, { cause });
  }
}

/** The config's values stand in the order of the mask's bits: 0 and 1 priority fee, 2 compute units, 3 and 4 sizes. */
function readConfig(
  mask: number,
  values: readonly { readonly kind: 'u32' | 'u64'; readonly value: number | bigint }[],
) {
  const hasFee = (mask & 0b11) === 0b11;
  const hasUnits = (mask & 0b100) !== 0;
  const fee = hasFee ? values[0]?.value : 0n;
  const units = hasUnits ? values[hasFee ? 1 : 0]?.value : 0;
  return { priorityFeeLamports: BigInt(fee ?? 0n), computeUnitLimit: Number(units ?? 0) };
}

function sanitize(transaction: Omit<WireTransaction, 'transaction'>): void {
  const { header, staticAddresses, lookups, instructions, signatures } = transaction;
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = header;
  if (numSignerAccounts === 0 || signatures.length !== numSignerAccounts) throw unsanitary('signatures are missing');
  if (numReadonlySignerAccounts >= numSignerAccounts) throw unsanitary('the fee payer must be writable');
  if (numSignerAccounts + numReadonlyNonSignerAccounts > staticAddresses.length) {
    throw unsanitary(`the header speaks of more than ${staticAddresses.length} accounts`);
  }
  if (transaction.version === 1 && staticAddresses.length > V1_ADDRESSES) {
    throw unsanitary(`${staticAddresses.length} addresses, version 1 allows ${V1_ADDRESSES}`);
  }
  if (transaction.version === 1 && instructions.length > V1_INSTRUCTIONS) {
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
  return new WireTransactionError('unsanitary', `invalid transaction: ${reason}`);
}
