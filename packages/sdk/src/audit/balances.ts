import { isAddress, isTokenProgram } from '@flywheel/protocol';
import { type ChainTransaction, GET_TRANSACTION, listOf } from '../chain/read-transaction.ts';
import { fieldOf, unexpectedAnswer } from '../chain/rpc.ts';

/** A balance before and after a transaction: lamports, or base units. */
export interface Change {
  readonly before: bigint;
  readonly after: bigint;
}

/**
 * A token account that belongs to the vault before or after a transaction. While it belongs to others, or has another mint, its
 * balance counts as 0: an account that is closed and created again with another mint is two of these.
 */
export interface OwnedTokens extends Change {
  readonly account: string;
  readonly mint: string;
  readonly decimals: number;
  /** True if it belongs to the vault before the transaction. */
  readonly wasOwned: boolean;
}

/** A change of a token account's balance. A mint is null while the account does not belong to the vault. */
export interface TokensChange extends Change {
  readonly mintBefore: string | null;
  readonly mintAfter: string | null;
}

/** The lamports of an account; null if the transaction does not name it. @throws FlywheelError for a malformed answer. */
export function lamportsOf({ accounts, meta }: ChainTransaction, account: string): Change | null {
  const addresses: readonly string[] = accounts;
  const index = addresses.indexOf(account);
  if (index === -1) return null;
  return {
    before: toAmount(fieldOf(fieldOf(meta, 'preBalances'), index)),
    after: toAmount(fieldOf(fieldOf(meta, 'postBalances'), index)),
  };
}

/** The token accounts of a vault in a transaction, those from before it first. @throws FlywheelError for a malformed answer. */
export function ownedTokensOf(transaction: ChainTransaction, vault: string): readonly OwnedTokens[] {
  const found = new Map<string, OwnedTokens>();
  for (const [list, side] of SIDES) {
    for (const { amount, ...held } of heldBy(transaction, vault, list)) {
      const key = `${held.account} ${held.mint}`;
      found.set(key, { ...(found.get(key) ?? { ...held, ...NOTHING, wasOwned: side === 'before' }), [side]: amount });
    }
  }
  return [...found.values()];
}

/**
 * What of a token account belongs to the vault before and after a transaction; null if the transaction cannot have changed it:
 * nodes list token balances only for transactions that name a token program, and nothing else changes them.
 */
export function tokensIn(transaction: ChainTransaction, vault: string, account: string): TokensChange | null {
  const [before, after] = SIDES.map(([list]) =>
    heldBy(transaction, vault, list).find((held) => held.account === account),
  );
  if (!before && !after && !transaction.accounts.some(isTokenProgram)) return null;
  return {
    ...{ before: before?.amount ?? 0n, after: after?.amount ?? 0n },
    ...{ mintBefore: before?.mint ?? null, mintAfter: after?.mint ?? null },
  };
}

/** Reads an amount of a node's answer: a number, a bigint above 2^53, or decimal text. */
export function toAmount(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  if (typeof value === 'string' && /^\d{1,20}$/.test(value)) return BigInt(value);
  throw unexpectedAnswer(GET_TRANSACTION, value);
}

/** True for an address. Another text of a node could add lines to a report, or give a spreadsheet a formula. */
export function isAddressText(value: unknown): value is string {
  return typeof value === 'string' && isAddress(value);
}

/** True for what the byte of a mint can hold. A balance with a billion decimals would take gigabytes to write. */
export function isDecimals(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 255;
}

const SIDES = [
  ['preTokenBalances', 'before'],
  ['postTokenBalances', 'after'],
] as const;

const NOTHING = { before: 0n, after: 0n } as const;

/** The balances of a vault before or after a transaction. */
function heldBy(transaction: ChainTransaction, vault: string, list: (typeof SIDES)[number][0]) {
  return listOf(fieldOf(transaction.meta, list)).flatMap((balance) => {
    const [account, mint, amount] = [accountOf(transaction, balance), fieldOf(balance, 'mint'), amountOf(balance)];
    const decimals = fieldOf(fieldOf(balance, 'uiTokenAmount'), 'decimals');
    if (!isAddressText(mint) || !isDecimals(decimals)) throw unexpectedAnswer(GET_TRANSACTION, balance);
    return fieldOf(balance, 'owner') === vault ? [{ account, mint, decimals, amount }] : [];
  });
}

function accountOf({ accounts }: ChainTransaction, balance: unknown): string {
  const index = fieldOf(balance, 'accountIndex');
  const account = typeof index === 'number' ? accounts[index] : undefined;
  if (account === undefined) throw unexpectedAnswer(GET_TRANSACTION, balance);
  return account;
}

function amountOf(balance: unknown): bigint {
  return toAmount(fieldOf(fieldOf(balance, 'uiTokenAmount'), 'amount'));
}
