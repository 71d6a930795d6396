import { base64Length, decodeBase58, MAX_TRANSACTION_BYTES } from '@flywheel/protocol';
import { INVALID_PARAMS } from '@flywheel/solana-rpc';
import { parseWireTransaction, type WireTransaction, WireTransactionError } from '../wire/wire-transaction.ts';
import { CallError } from './call-error.ts';

export type BinaryEncoding = 'base58' | 'base64';

/** Names of what a text holds, as a validator's errors have them. */
const TRANSACTION = 'solana_transaction::versioned::VersionedTransaction';
export const MESSAGE = 'solana_message::versions::VersionedMessage';

/** Maximum of a text in base58 (rpc, decode_and_deserialize), which was not extended for version 1. */
const MAX_BASE58_LENGTH = 1_683;
/** The first two letters of version 1 in base64, and those after them. */
const V1_PREFIX = 'gQ';

/** Parses a transaction parameter; `v1` accepts version 1. @throws CallError with the reason if it is invalid */
export function parseWireParam(text: string, encoding: BinaryEncoding, v1: boolean): WireTransaction {
  const bytes = decodeText(text, encoding, TRANSACTION);
  try {
    const transaction = parseWireTransaction(bytes);
    if (transaction.version !== 1 || v1) return transaction;
    throw new WireTransactionError('undecodable', 'version 1 is not known here');
  } catch (error) {
    if (error instanceof WireTransactionError) throw unreadable(error, TRANSACTION);
    throw error;
  }
}

/** Converts the reason why bytes are not what they should be to the error of a validator. */
export function unreadable({ fault, message }: WireTransactionError, what: string): CallError {
  const reason =
    fault === 'unsanitary'
      ? 'invalid transaction: Transaction failed to sanitize accounts offsets correctly'
      : `failed to deserialize ${what}: ${message}`;
  return new CallError(INVALID_PARAMS, reason);
}

/** Decodes a text of limited length. @throws CallError that names what it should hold */
export function decodeText(text: string, encoding: BinaryEncoding, what: string): Uint8Array {
  const isV1 = encoding === 'base64' && text.slice(0, 2) >= V1_PREFIX;
  const maxBytes = MAX_TRANSACTION_BYTES[isV1 ? 1 : 0];
  const maxLength = encoding === 'base58' ? MAX_BASE58_LENGTH : base64Length(maxBytes);
  if (text.length > maxLength) {
    const limits = `${text.length} bytes (max: encoded/raw ${maxLength}/${maxBytes})`;
    throw new CallError(INVALID_PARAMS, `${encoding} encoded ${what} too large: ${limits}`);
  }
  const bytes = decodeBytes(text, encoding);
  if (typeof bytes === 'string') throw new CallError(INVALID_PARAMS, `invalid ${encoding} encoding: ${bytes}`);
  if (bytes.length > maxBytes) {
    throw new CallError(INVALID_PARAMS, `decoded ${what} too large: ${bytes.length} bytes (max: ${maxBytes} bytes)`);
  }
  return bytes;
}

/** Decodes a text; another text is the reason why it is malformed, in the words of Rust's decoders. */
export function decodeBytes(text: string, encoding: BinaryEncoding): Uint8Array | string {
  if (encoding === 'base58') {
    const index = text.search(/[^1-9A-HJ-NP-Za-km-z]/);
    return decodeBase58(text) ?? `InvalidCharacter { character: '${text[index] ?? ''}', index: ${index} }`;
  }
  const index = text.replace(/={1,2}$/, '').search(/[^A-Za-z0-9+/]/);
  if (index >= 0) return `InvalidByte(${index}, ${text.charCodeAt(index)})`;
  if (text.length % 4 === 1) return `InvalidLength(${text.length})`;
  if (text.length % 4 !== 0) return 'InvalidPadding';
  return new Uint8Array(Buffer.from(text, 'base64'));
}
