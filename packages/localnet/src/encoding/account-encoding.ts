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
  return {
    lamports: account.lamports,
    owner: account.programAddress,
    data: encodeContent(account, view, readAccount),
    executable: account.executable,
    rentEpoch: RENT_EPOCH,
    space: account.data.length,
  };
}

function encodeContent(account: EncodedAccount, { encoding, dataSlice }: AccountView, readAccount: ReadAccount) {
  if (encoding === 'jsonParsed') {
    const parsed = parseAccount(account, readAccount);
    if (parsed) return parsed;
  }
  const whole = new Uint8Array(account.data);
  const bytes = dataSlice ? whole.subarray(dataSlice.offset, dataSlice.offset + dataSlice.length) : whole;
  switch (encoding) {
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
      return encoding satisfies never;
  }
}

function toBase58(bytes: Uint8Array): string {
  if (bytes.length > MAX_BASE58_BYTES) {
    throw new CallError(
      INVALID_REQUEST,
      `Encoded binary (base 58) data should be less than ${MAX_BASE58_BYTES} bytes, please use Base64 encoding.`,
    );
  }
  return encodeBase58(bytes);
}
