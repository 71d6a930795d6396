import { zstdCompressSync } from 'node:zlib';
import { encodeBase58 } from '@flywheel/protocol';
import { INVALID_REQUEST } from '@flywheel/solana-rpc';
import type { EncodedAccount, MaybeEncodedAccount } from '@solana/kit';
import { CallError } from '../rpc/call-error.ts';
import { parseAccount } from './account-parsing.ts';

/** Maximum length of an account in base58 (account-decoder, MAX_BASE58_BYTES). */
const MAX_BASE58_BYTES = 128;
/** Value of `rentEpoch` of rent-exempt accounts; every account is one. */
const RENT_EPOCH = 18_446_744_073_709_551_615n;

export interface AccountView {
  /** undefined is the legacy form: plain base58 text. */
  readonly encoding?: 'base58' | 'base64' | 'base64+zstd' | 'jsonParsed' | undefined;
  readonly dataSlice?: { readonly offset: number; readonly length: number } | null | undefined;
}

type ReadAccount = Parameters<typeof parseAccount>[1];

/** Encodes an account as RPC returns it; null if it does not exist. */
export function encodeMaybeAccount(account: MaybeEncodedAccount, view: AccountView, readAccount: ReadAccount) {
  return account.exists ? encodeAccount(account, view, readAccount) : null;
}

/** Encodes an account as RPC returns it. @throws CallError if the account is too long for base58 */
export function encodeAccount(account: EncodedAccount, view: AccountView, readAccount: ReadAccount) {
  const isBase58 = view.encoding === undefined || view.encoding === 'base58';
  if (isBase58 && slice(account, view).length > MAX_BASE58_BYTES) {
    throw new CallError(
      INVALID_REQUEST,
      `Encoded binary (base 58) data should be less than ${MAX_BASE58_BYTES} bytes, please use Base64 encoding.`,
    );
  }
  return encodeNotified(account, view, readAccount);
}

/** Encodes an account as a notification has it: data too long for base58 is an error's text (account-decoder, encode_bs58). */
export function encodeNotified(account: EncodedAccount, view: AccountView, readAccount: ReadAccount) {
  return {
    lamports: account.lamports,
    owner: account.programAddress,
    data: encodeContent(account, view, readAccount),
    executable: account.executable,
    rentEpoch: RENT_EPOCH,
    space: account.data.length,
  };
}

function slice({ data }: EncodedAccount, { dataSlice }: AccountView): Uint8Array {
  const whole = new Uint8Array(data);
  return dataSlice ? whole.subarray(dataSlice.offset, dataSlice.offset + dataSlice.length) : whole;
}

function encodeContent(account: EncodedAccount, view: AccountView, readAccount: ReadAccount) {
  if (view.encoding === 'jsonParsed') {
    const parsed = parseAccount(account, readAccount);
    if (parsed) return parsed;
  }
  const bytes = slice(account, view);
  switch (view.encoding) {
    case undefined:
      return toBase58(bytes);
    case 'base58':
      return [toBase58(bytes), 'base58'];
    case 'base64':
    case 'jsonParsed':
      return [Buffer.from(bytes).toString('base64'), 'base64'];
    case 'base64+zstd':
      return [zstdCompressSync(bytes).toString('base64'), 'base64+zstd'];
    default:
      return view.encoding satisfies never;
  }
}

function toBase58(bytes: Uint8Array): string {
  return bytes.length > MAX_BASE58_BYTES ? 'error: data too large for bs58 encoding' : encodeBase58(bytes);
}
