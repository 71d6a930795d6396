import { ADDRESS_BYTES, isTokenProgram, MAX_MULTIPLE_ACCOUNTS } from '@flywheel/protocol';
import { INVALID_PARAMS } from '@flywheel/solana-rpc';
import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import { ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS } from '@solana-program/address-lookup-table';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import { z } from 'zod';
import { encodeAccount, encodeMaybeAccount } from '../encoding/account-encoding.ts';
import type { Node } from '../ledger/node.ts';
import { type AccountFilters, accountFilters } from '../rpc/account-filters.ts';
import type { Method } from '../rpc/answer-call.ts';
import { CallError } from '../rpc/call-error.ts';
import {
  accountConfig,
  addressParam,
  configCommitment,
  contextParam,
  encodingParam,
  listParam,
  optionalConfig,
  parseParams,
} from '../rpc/params.ts';
import { checkContextSlot, withContext } from './context.ts';

const programAccountsConfig = optionalConfig({
  ...contextParam,
  encoding: encodingParam.optional(),
  dataSlice: z.object({ offset: z.int().nonnegative(), length: z.int().nonnegative() }).nullish(),
  filters: accountFilters.nullish(),
  withContext: z.boolean().nullish(),
});

/** Number of accounts in getLargestAccounts and of holders in getTokenLargestAccounts (rpc, NUM_LARGEST_ACCOUNTS). */
export const LARGEST_ACCOUNTS = 20;
/**
 * Owners of accounts with lamports: wallets, and programs whose accounts return their lamports when they are closed.
 */
const LAMPORT_HOLDERS = [
  SYSTEM_PROGRAM_ADDRESS,
  TOKEN_PROGRAM_ADDRESS,
  TOKEN_2022_PROGRAM_ADDRESS,
  ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS,
  SQUADS_PROGRAM_ADDRESS,
];
const largestConfig = optionalConfig({
  commitment: configCommitment,
  filter: z.enum(['circulating', 'nonCirculating']).nullish(),
});

/** Methods that read accounts. Lamports of the bank count as non-circulating. */
export function accountMethods(node: Node, bank: Address): Record<string, Method> {
  return {
    getBalance: (params) => {
      const [address, config] = parseParams([addressParam, optionalConfig(contextParam)], params);
      const account = node.bank(config.commitment).account(address);
      return withContext(node, config, account.exists ? account.lamports : 0n);
    },
    getAccountInfo: (params) => {
      const [address, config] = parseParams([addressParam, accountConfig], params);
      const { account } = node.bank(config.commitment);
      return withContext(node, config, encodeMaybeAccount(account(address), config, account));
    },
    getMultipleAccounts: (params) => {
      const [addresses, config] = parseParams([listParam(addressParam, MAX_MULTIPLE_ACCOUNTS), accountConfig], params);
      const view = { ...config, encoding: config.encoding ?? 'base64' };
      const { account } = node.bank(config.commitment);
      const accounts = addresses.map((address) => encodeMaybeAccount(account(address), view, account));
      return withContext(node, config, accounts);
    },
    getLargestAccounts: (params) => {
      const [config] = parseParams([largestConfig], params);
      const state = node.bank(config.commitment);
      const wanted = LAMPORT_HOLDERS.flatMap((program) => state.programAccounts(program))
        .filter(({ address }) => config.filter == null || (config.filter === 'nonCirculating') === (address === bank))
        .sort((a, b) => (a.lamports < b.lamports ? 1 : -1))
        .slice(0, LARGEST_ACCOUNTS);
      return withContext(
        node,
        { commitment: config.commitment },
        wanted.map(({ address, lamports }) => ({ address, lamports })),
      );
    },
    getProgramAccounts: (params) => {
      const [program, config] = parseParams([addressParam, programAccountsConfig], params);
      checkContextSlot(node, config);
      checkTokenFilters(program, config.filters ?? []);
      const state = node.bank(config.commitment);
      const accounts = state
        .programAccounts(program)
        .filter((account) => (config.filters ?? []).every(({ passes }) => passes(account)))
        .map((account) => ({ pubkey: account.address, account: encodeAccount(account, config, state.account) }));
      return config.withContext ? withContext(node, config, accounts) : accounts;
    },
  };
}

/** Offsets of addresses in a token account, by which a validator has an index. */
const INDEXED = { owner: 32, mint: 0 } as const;

/** @throws CallError if a filter compares a part of an address by which token accounts are indexed */
function checkTokenFilters(program: Address, filters: AccountFilters): void {
  if (!isTokenProgram(program)) return;
  for (const [name, offset] of Object.entries(INDEXED)) {
    const part = filters.find(({ compared }) => compared?.offset === offset && compared.length !== ADDRESS_BYTES);
    if (!part) continue;
    const lengths = `Incorrect byte length ${part.compared?.length} for SPL token ${name} filter`;
    throw new CallError(INVALID_PARAMS, `${lengths}, expected ${ADDRESS_BYTES}`);
  }
}
