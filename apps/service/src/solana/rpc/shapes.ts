import { type Address, type Blockhash, isAddress, isBlockhash, isSignature, type Signature } from '@solana/kit';
import * as z from 'zod';

/** The parts of answers that several methods share, after kit has made bigints of integers. */
export const shapes = {
  u64: z.bigint().nonnegative(),
  address: z.custom<Address>((value) => typeof value === 'string' && isAddress(value), 'is no address'),
  blockhash: z.custom<Blockhash>((value) => typeof value === 'string' && isBlockhash(value), 'is no blockhash'),
  signature: z.custom<Signature>((value) => typeof value === 'string' && isSignature(value), 'is no signature'),
  /** Base64 as account bytes come: `[text, "base64"]`. */
  bytes: z
    .tuple([z.base64(), z.literal('base64')])
    .transform(([text]): Uint8Array => Uint8Array.from(Buffer.from(text, 'base64'))),
  /** A TransactionError as its JSON text; null when there is none. */
  transactionError: z.unknown().transform(transactionErrorText),
};

/** kit has made bigints of the numbers in it; positions are u8 and custom codes u32, so they are exact as numbers. */
function transactionErrorText(error: unknown): string | null {
  if (error === null || error === undefined) return null;
  return JSON.stringify(error, (_key, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
}
