import { isTokenProgram } from '@flywheel/protocol';
import { INVALID_PARAMS } from '@flywheel/solana-rpc';
import type { Address, EncodedAccount } from '@solana/kit';
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import { z } from 'zod';
import { encodeAccount } from '../encoding/account-encoding.ts';
import { type FormatAmount, readFormat } from '../encoding/ui-amounts.ts';
import type { BankState } from '../ledger/bank-state.ts';
import type { Node } from '../ledger/node.ts';
import { mintSupply, type TokenHolding, tokenHolding } from '../ledger/token-balances.ts';
import type { Method } from '../rpc/answer-call.ts';
import { CallError } from '../rpc/call-error.ts';
import { accountConfig, addressParam, commitmentConfig, parseParams, whole } from '../rpc/params.ts';
import { LARGEST_ACCOUNTS } from './accounts.ts';
import { withContext } from './context.ts';

const TOKEN_PROGRAMS: readonly Address[] = [TOKEN_PROGRAM_ADDRESS, TOKEN_2022_PROGRAM_ADDRESS];

const tokenFilter = z
  .looseObject({ mint: addressParam.optional(), programId: addressParam.optional() })
  .refine(
    (filter) => Object.keys(filter).length === 1,
    whole('Invalid params: invalid value: map, expected map with a single key.'),
  );

/** Methods about token accounts and mints, of both token programs. */
export function tokenMethods(node: Node): Record<string, Method> {
  const byHolder = (params: readonly unknown[], holderOf: (holding: TokenHolding) => Address | null) => {
    const [holder, wanted, context] = parseParams([addressParam, tokenFilter, accountConfig], params);
    const bank = node.bank(context.commitment);
    const accounts = tokenAccounts(bank, programsFor(bank, wanted))
      .filter(
        ({ holding }) => holderOf(holding) === holder && (wanted.mint === undefined || holding.mint === wanted.mint),
      )
      .map(({ account }) => ({
        pubkey: account.address,
        account: encodeAccount(account, context, bank.account),
      }));
    return withContext(node, context, accounts);
  };
  return {
    getTokenAccountBalance: (params) => {
      const [address, context] = parseParams([addressParam, commitmentConfig], params);
      const bank = node.bank(context.commitment);
      const account = bank.account(address);
      if (!account.exists) throw invalid('could not find account');
      const holding = tokenHolding(account);
      if (!holding) throw invalid('not a Token account');
      return withContext(node, context, formatOf(bank, holding.mint)(holding.amountBaseUnits));
    },
    getTokenSupply: (params) => {
      const [mint, context] = parseParams([addressParam, commitmentConfig], params);
      const bank = node.bank(context.commitment);
      const account = bank.account(mint);
      if (!account.exists) throw invalid('could not find account');
      if (!isTokenProgram(account.programAddress)) throw invalid('not a Token mint');
      const supply = mintSupply(account);
      if (!supply) throw invalid('mint could not be unpacked');
      return withContext(node, context, formatOf(bank, mint)(supply.supplyBaseUnits));
    },
    getTokenAccountsByOwner: (params) => byHolder(params, ({ owner }) => owner),
    getTokenAccountsByDelegate: (params) => byHolder(params, ({ delegate }) => delegate),
    getTokenLargestAccounts: (params) => {
      const [mint, context] = parseParams([addressParam, commitmentConfig], params);
      const bank = node.bank(context.commitment);
      const format = formatOf(bank, mint);
      const largest = tokenAccounts(bank, programsFor(bank, { mint }))
        .filter(({ holding }) => holding.mint === mint)
        .reverse() // equal ones from the last address to the first
        .sort((a, b) => Number(b.holding.amountBaseUnits - a.holding.amountBaseUnits))
        .slice(0, LARGEST_ACCOUNTS)
        .map(({ account, holding }) => ({
          address: account.address,
          ...format(holding.amountBaseUnits),
        }));
      return withContext(node, context, largest);
    },
  };
}

function formatOf(bank: BankState, mint: Address): FormatAmount {
  const account = bank.account(mint);
  if (!account.exists) throw invalid('could not find mint');
  const format = readFormat(account, bank.account);
  if (!format) throw invalid('Token mint could not be unpacked');
  return format;
}

function programsFor(bank: BankState, wanted: z.output<typeof tokenFilter>): Address[] {
  if (wanted.mint === undefined) {
    const program = TOKEN_PROGRAMS.find((program) => program === wanted.programId);
    if (!program) throw invalid('unrecognized Token program id');
    return [program];
  }
  formatOf(bank, wanted.mint);
  const mint = bank.account(wanted.mint);
  return TOKEN_PROGRAMS.filter((program) => mint.exists && program === mint.programAddress);
}

function tokenAccounts(bank: BankState, programs: readonly Address[]) {
  return programs
    .flatMap((program): EncodedAccount[] => bank.programAccounts(program))
    .flatMap((account) => {
      const holding = tokenHolding(account);
      return holding ? [{ account, holding }] : [];
    });
}

function invalid(reason: string): CallError {
  return new CallError(INVALID_PARAMS, `Invalid param: ${reason}`);
}
