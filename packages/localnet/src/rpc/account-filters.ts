import { base64Length } from '@flywheel/protocol';
import type { EncodedAccount } from '@solana/kit';
import { z } from 'zod';
import { tokenHolding } from '../ledger/token-balances.ts';
import { whole } from './params.ts';
import { decodeBytes } from './wire-param.ts';

/** Maximum of filters in getProgramAccounts (rpc-client-api, MAX_GET_PROGRAM_ACCOUNT_FILTERS). */
const MAX_FILTERS = 4;
/** Limits of the bytes that a filter compares, and of their texts (rpc-client-types, filter.rs). */
const MAX_BYTES = 128;
const MAX_BASE58_LENGTH = 175;

const filter = z.union([
  z.object({ dataSize: z.int().nonnegative() }),
  z.object({
    memcmp: z
      .object({
        offset: z.int().nonnegative(),
        bytes: z.union([z.string(), z.array(z.int().min(0).max(255))]),
        encoding: z.enum(['base58', 'base64', 'bytes', 'binary']).default('base58'),
      })
      .transform(({ offset, bytes, encoding }) => ({ offset, bytes: readBytes(bytes, encoding) })),
  }),
  z.literal('tokenAccountState'),
]);

/** The filters of one call; errors of a subscription have a prefix (rpc_pubsub, program_subscribe). */
export const accountFilters = filtersWith('');
export const subscriptionFilters = filtersWith('Invalid params: ');

/** Filters that a call has passed. */
export type AccountFilters = z.output<typeof accountFilters>;

function filtersWith(prefix: string) {
  return z
    .array(filter)
    .refine((list) => list.length <= MAX_FILTERS, whole(`${prefix}Too many filters provided; max ${MAX_FILTERS}`))
    .transform((list, context) => {
      for (const entry of list) {
        if (typeof entry === 'string' || !('memcmp' in entry) || typeof entry.memcmp.bytes !== 'string') continue;
        context.addIssue({ code: 'custom', ...whole(`${prefix}Invalid param: ${entry.memcmp.bytes}`) });
        return z.NEVER;
      }
      return list.map((entry) => ({ passes: toTest(entry), compared: comparedBytes(entry) }));
    });
}

type Filter = z.output<typeof filter>;

/** Returns which bytes a filter compares; null for other filters. */
function comparedBytes(entry: Filter): { readonly offset: number; readonly length: number } | null {
  if (typeof entry === 'string' || !('memcmp' in entry)) return null;
  return { offset: entry.memcmp.offset, length: entry.memcmp.bytes.length };
}

/** Converts a checked filter to a test of an account. */
function toTest(entry: Filter): (account: EncodedAccount) => boolean {
  if (typeof entry === 'string') return (account) => tokenHolding(account) !== null;
  if ('dataSize' in entry) return (account) => account.data.length === entry.dataSize;
  const { offset, bytes } = entry.memcmp;
  return ({ data }) => typeof bytes !== 'string' && bytes.every((byte, index) => data[offset + index] === byte);
}

/** Decodes the bytes of a filter; a text is the name of the error (rpc-client-types, RpcFilterError). */
function readBytes(bytes: string | readonly number[], encoding: string): Uint8Array | string {
  if (typeof bytes !== 'string') return bytes.length > MAX_BYTES ? TOO_LARGE : Uint8Array.from(bytes);
  const isBase64 = encoding === 'base64';
  if (bytes.length > (isBase64 ? base64Length(MAX_BYTES) : MAX_BASE58_LENGTH)) return TOO_LARGE;
  const decoded = decodeBytes(bytes, isBase64 ? 'base64' : 'base58');
  if (typeof decoded === 'string') return `${isBase64 ? 'Base64' : 'Base58'}DecodeError(${decoded})`;
  return decoded.length > MAX_BYTES ? TOO_LARGE : decoded;
}

const TOO_LARGE = 'DataTooLarge';
