import { getBase58Encoder, type ReadonlyUint8Array } from '@solana/kit';
import { z } from 'zod';
import { encodeAccount, encodeMaybeAccount } from '../encoding/account-encoding.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { tokenHolding } from '../ledger/token-balances.ts';
import {
  accountConfig,
  addressParam,
  contextParam,
  encodingParam,
  optionalConfig,
  parseParams,
} from '../rpc/params.ts';
import type { Method } from '../rpc/server.ts';
import { checkContextSlot, withContext } from './context.ts';

/** Addresses that getMultipleAccounts takes (rpc-client-api, MAX_MULTIPLE_ACCOUNTS). */
const MAX_MULTIPLE_ACCOUNTS = 100;
/** Filters that getProgramAccounts takes (rpc-client-api, MAX_GET_PROGRAM_ACCOUNT_FILTERS). */
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

const programAccountsConfig = optionalConfig({
  ...contextParam,
  encoding: encodingParam.optional(),
  dataSlice: z.object({ offset: z.int().nonnegative(), length: z.int().nonnegative() }).nullish(),
  filters: z.array(filter).max(MAX_FILTERS).nullish(),
  withContext: z.boolean().nullish(),
});

/** Methods that read accounts. */
export function accountMethods(ledger: Ledger): Record<string, Method> {
  const { svm } = ledger;
  const readAccount = svm.getAccount.bind(svm);
  return {
    getBalance: (params) => {
      const [address, config] = parseParams([addressParam, optionalConfig(contextParam)], params);
      return ledger.read(() => withContext(ledger, config, svm.getBalance(address) ?? 0n));
    },
    getAccountInfo: (params) => {
      const [address, config] = parseParams([addressParam, accountConfig], params);
      return ledger.read(() =>
        withContext(ledger, config, encodeMaybeAccount(readAccount(address), config, readAccount)),
      );
    },
    getMultipleAccounts: (params) => {
      const [addresses, config] = parseParams(
        [z.array(addressParam).max(MAX_MULTIPLE_ACCOUNTS), accountConfig],
        params,
      );
      const view = { ...config, encoding: config.encoding ?? 'base64' };
      return ledger.read(() => {
        const accounts = addresses.map((address) => encodeMaybeAccount(readAccount(address), view, readAccount));
        return withContext(ledger, config, accounts);
      });
    },
    getProgramAccounts: (params) => {
      const [program, config] = parseParams([addressParam, programAccountsConfig], params);
      return ledger.read(() => {
        checkContextSlot(ledger, config);
        const accounts = svm
          .getProgramAccounts(program)
          .filter((account) => (config.filters ?? []).every((entry) => matches(account, entry)))
          .map((account) => ({ pubkey: account.address, account: encodeAccount(account, config, readAccount) }));
        return config.withContext ? withContext(ledger, config, accounts) : accounts;
      });
    },
  };
}

function matches(
  account: ReturnType<Ledger['svm']['getProgramAccounts']>[number],
  entry: z.output<typeof filter>,
): boolean {
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
