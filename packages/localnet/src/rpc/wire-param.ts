import { getBase58Encoder } from '@solana/kit';
import { parseWireTransaction, type WireTransaction, WireTransactionError } from '../wire/wire-transaction.ts';
import { INVALID_PARAMS, invalidParams, RpcError } from './rpc-error.ts';

/** Length of the base64 text of the largest transaction (version 1); longer texts are not decoded. */
const MAX_TEXT_LENGTH = 5_464;

/** Parses a transaction parameter; `v1` accepts version 1. Throws an RpcError with the reason if it is invalid. */
export function parseWireParam(text: string, encoding: 'base58' | 'base64', v1: boolean): WireTransaction {
  if (text.length > MAX_TEXT_LENGTH) {
    throw new RpcError(INVALID_PARAMS, `${encoding} encoded transaction too large: ${text.length} characters`);
  }
  try {
    const transaction = parseWireTransaction(decodeText(text, encoding));
    if (transaction.version !== 1 || v1) return transaction;
    throw new WireTransactionError('undecodable', 'failed to deserialize transaction: version 1 is not known here');
  } catch (error) {
    if (!(error instanceof WireTransactionError)) throw error;
    const prefix = error.fault === 'too large' ? `${encoding} encoded transaction ` : '';
    throw new RpcError(INVALID_PARAMS, `${prefix}${error.message}`);
  }
}

export function decodeText(text: string, encoding: 'base58' | 'base64'): Uint8Array {
  const isBase64 = encoding === 'base64' && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
  if (isBase64) return new Uint8Array(Buffer.from(text, 'base64'));
  if (encoding === 'base58' && /^[1-9A-HJ-NP-Za-km-z]*$/.test(text))
    return new Uint8Array(getBase58Encoder().encode(text));
  throw invalidParams(`invalid ${encoding} encoding`);
}
