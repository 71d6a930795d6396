import { type EncodedAccount, getBase58Encoder, type ReadonlyUint8Array } from '@solana/kit';
import { z } from 'zod';
import { tokenHolding } from '../ledger/token-balances.ts';

/** Maximum of filters in getProgramAccounts (rpc-client-api, MAX_GET_PROGRAM_ACCOUNT_FILTERS). */
const MAX_FILTERS = 4;

const filter = z.union([
  z.object({ dataSize: z.int().nonnegative() }),
  z.object({
    memcmp: z
      .object({
        offset: z.int().nonnegative(),
        bytes: z.string().max(175),
        encoding: z.enum(['base58', 'base64', 'binary']).default('base58'),
      })
      .transform(({ offset, bytes, encoding }, issues) => ({ offset, bytes: decodeBytes(bytes, encoding, issues) })),
  }),
  z.object({ tokenAccountState: z.literal(true) }),
]);

/** The filters of one call. */
export const accountFilters = z.array(filter).max(MAX_FILTERS);

/** Returns true if an account passes one filter. */
export function matchesFilter(account: EncodedAccount, entry: z.output<typeof filter>): boolean {
  if ('dataSize' in entry) return account.data.length === entry.dataSize;
  if ('tokenAccountState' in entry) return tokenHolding(account) !== null;
  const { offset, bytes } = entry.memcmp;
  return bytes.every((byte, index) => account.data[offset + index] === byte);
}

function decodeBytes(
  text: string,
  encoding: 'base58' | 'base64' | 'binary',
  issues: z.RefinementCtx,
): ReadonlyUint8Array {
  if (encoding === 'base64') return new Uint8Array(Buffer.from(text, 'base64'));
  if (/^[1-9A-HJ-NP-Za-km-z]*$/.test(text)) return getBase58Encoder().encode(text);
  issues.addIssue({ code: 'custom', message: 'not base58' });
  return z.NEVER;
}
