import { groupDigits, writeSol, writeTokens } from '@flywheel/protocol';
import type { ChainTransaction } from '../chain/read-transaction.ts';
import { type Change, lamportsOf, type TokensChange, tokensIn } from './balances.ts';
import type { AuditNode, Entry, Page } from './node.ts';
import { isAfter, isBefore, type Period } from './period.ts';

/** An account whose history is read, from its newest transaction to its oldest. The state of an audit holds it. */
export interface AccountState {
  readonly account: string;
  readonly kind: 'vault' | 'multisig' | 'tokens';
  /** null unless it holds tokens. The mint that the next older transaction must have left. */
  mint: string | null;
  /** Slot in which the balance was read. The audit ignores later transactions. */
  readonly anchorSlot: number;
  /** The last transaction that was read; null before the first. */
  cursor: string | null;
  /** Slot of the last transaction that was read; at first that of the balance. */
  slot: number;
  /** The balance that the next older transaction must have left; null if a gap hides it. */
  expected: bigint | null;
  /** The balance at the end of the period; null until a transaction of the period is read. */
  closing: bigint | null;
  /** The mint at the end of the period: a token account can be closed, and created again with another mint. */
  closingMint: string | null;
  /** The balance at the start of the period; null until the account's history is read. */
  opening: bigint | null;
}

/** Slots between which transactions of an account are missing, both included. */
export interface AuditGap {
  readonly account: string;
  readonly fromSlot: number;
  readonly toSlot: number;
  /** A sentence. */
  readonly reason: string;
}

/** The history of one account, a page at a time. */
export interface AccountHistory {
  readonly state: AccountState;
  /** The next older entries that are known; empty only after `fill` if there are no more. */
  readonly entries: readonly Entry[];
  /** Reads the next page if no entry is left. */
  fill(limit: number): Promise<void>;
  /**
   * Removes the next entry and compares the balances of its transaction; null: no node has it any more, or with all that it
   * called. A failed one has changed nothing, and need not be read.
   */
  pass(transaction: ChainTransaction | null): AuditGap | null;
  /** True when all that the audit needs has been read. */
  isDone(): boolean;
  /** Ends the account's history. Call it once, when it is done. */
  close(): AuditGap | null;
}

export interface HistoryDeps {
  readonly node: AuditNode;
  readonly vault: string;
  readonly period: Period;
  /** Decimals of the mints that the audit has met. */
  readonly decimals: ReadonlyMap<string, number>;
}

export function openHistory({ node, vault, period, decimals }: HistoryDeps, state: AccountState): AccountHistory {
  let entries: readonly Entry[] = [];
  let listed: Page['before'] = state.cursor === null ? null : { signature: state.cursor, slot: state.slot };
  let isListed = false;
  let isCut = false;

  const changeIn = (transaction: ChainTransaction): (Change & Partial<TokensChange>) | null =>
    state.kind === 'tokens' ? tokensIn(transaction, vault, state.account) : lamportsOf(transaction, state.account);
  const write = (balance: bigint, mint: string | null) => writeBalance(balance, state.kind, { mint, decimals });
  const end = (balance: bigint | null) => {
    if (state.closing !== null || balance === null) return;
    state.closing = balance;
    state.closingMint = state.mint;
  };
  const gap = (slots: Pick<AuditGap, 'fromSlot' | 'toSlot'>, reason: string) => ({
    ...{ account: state.account, ...slots, reason },
  });

  return {
    state,
    get entries() {
      return entries;
    },
    fill: async (limit) => {
      while (entries.length === 0 && !isListed && state.opening === null) {
        const page = await node.listOlder(state.account, { before: listed, limit, minContextSlot: state.anchorSlot });
        isCut = page === null;
        // A short page is not the last one at every node.
        isListed = page === null || page.length === 0;
        listed = page?.at(-1) ?? listed;
        entries = (page ?? []).filter(({ slot }) => slot <= state.anchorSlot);
      }
    },
    pass: (transaction) => {
      const [entry, ...others] = entries;
      if (!entry) throw new Error(`The history of ${state.account} has no further entry.`);
      entries = others;
      state.cursor = entry.signature;
      if (entry.hasFailed) return null;
      const change = transaction && changeIn(transaction);
      const { mint: mintLeft } = state;
      state.mint = change?.mintAfter ?? state.mint;
      if (!isAfter(entry, period)) end(state.expected ?? change?.after ?? null);
      if (transaction === null) {
        state.expected = null;
        state.slot = entry.slot;
        return gap(
          { fromSlot: entry.slot, toSlot: entry.slot },
          `No node has the transaction ${entry.signature} with all that it called.`,
        );
      }
      // It names the account without being able to change it.
      if (change === null) return null;
      const { expected: left, slot: toSlot } = state;
      state.expected = change.before;
      state.slot = entry.slot;
      if (isBefore(entry, period)) {
        state.opening = change.after;
        entries = [];
      } else {
        state.mint = change.mintBefore ?? state.mint;
      }
      if (left === null) return null;
      const { mintAfter } = change;
      const slots = { fromSlot: entry.slot, toSlot };
      const after = `after the transaction ${entry.signature}`;
      if (mintLeft !== null && mintAfter && mintAfter !== mintLeft) {
        return gap(slots, `It was of the mint ${mintAfter} ${after}, and of ${mintLeft} before the next known one.`);
      }
      if (left === change.after) return null;
      const [had, next] = [write(change.after, mintAfter ?? mintLeft), write(left, mintLeft)];
      return gap(slots, `It had ${had} ${after}, and ${next} before the next known one.`);
    },
    isDone: () => state.opening !== null || (isListed && entries.length === 0),
    close: () => {
      if (state.opening !== null) return null;
      const { expected, slot } = state;
      end(expected);
      state.opening = expected ?? 0n;
      if (expected === 0n && !isCut) return null;
      const held = expected === null ? 'an unknown balance' : write(expected, state.mint);
      const cut = isCut ? ', and the node has deleted what is older' : '';
      return gap({ fromSlot: 0, toSlot: slot }, `Its known history begins here, with ${held}${cut}.`);
    },
  };
}

interface BalanceUnit {
  /** null unless the account holds tokens. */
  readonly mint: string | null;
  readonly decimals: ReadonlyMap<string, number>;
}

/** Writes a balance of an account with its unit; in base units while the decimals of its mint are not known. */
export function writeBalance(balance: bigint, kind: AccountState['kind'], { mint, decimals }: BalanceUnit): string {
  if (kind !== 'tokens') return writeSol(balance);
  const known = mint === null ? undefined : decimals.get(mint);
  return known === undefined ? `${groupDigits(String(balance))} base units` : writeTokens(balance, { decimals: known });
}
