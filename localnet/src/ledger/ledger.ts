import { randomBytes } from 'node:crypto';
import type { Address, MaybeEncodedAccount } from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import type { Runtime, TransactionError } from '../runtime.ts';
import type { WireTransaction } from '../wire/wire-transaction.ts';
import { type CapturedAccounts, emptyAccount, restoreAccounts } from './account-journal.ts';
import { type Attempt, attemptTransaction } from './attempt.ts';
import { BLOCKHASH_VALID_SLOTS, createSlots, type Slots } from './slots.ts';
import { createStateLock } from './state-lock.ts';
import { openStore, type Store } from './store.ts';

/** The state of the cluster, and the only ways to change it. */
export interface Ledger {
  readonly svm: LiteSVM;
  readonly slots: Slots;
  /** History of transactions. */
  readonly store: Omit<Store, 'isNew' | 'value' | 'accounts' | 'commit' | 'prune' | 'close'>;
  /** Reads between changes, never in the middle of one. */
  read<T>(work: () => T): Promise<T>;
  /**
   * Executes a transaction whose signatures have been verified. With `keepFailure: false` a failed one leaves no trace
   * (that is a preflight); otherwise it is recorded and pays its fee.
   */
  execute(transaction: WireTransaction, options: { readonly keepFailure: boolean }): Promise<Attempt>;
  /** Executes and puts everything back. `look` sees the state that the transaction leaves, before that. */
  simulate<T>(
    transaction: WireTransaction,
    options: { readonly checkLifetime: boolean },
    look: (attempt: Attempt) => T,
  ): Promise<T>;
  /** Executes all in order or none. Tells the position and the error of the first that fails. */
  executeAtomically(transactions: readonly WireTransaction[]): Promise<AtomicOutcome>;
  /** Completes the current slot; further slots or seconds pass at once. Ends when all who wait for slots are done. */
  advance(step?: { readonly slots?: bigint; readonly seconds?: bigint }): Promise<void>;
  /** Called when a slot has begun; may change the ledger. */
  onSlot(listener: () => Promise<void>): void;
  /** Called with transactions that have just been committed, those of a bundle together. May not change the ledger. */
  onCommit(listener: (executed: readonly ExecutedAttempt[]) => void): void;
  close(): Promise<void>;
}

export type ExecutedAttempt = Extract<Attempt, { kind: 'executed' }>;

export type AtomicOutcome =
  | { readonly landed: true; readonly slot: bigint }
  | { readonly landed: false; readonly failedPosition: number; readonly err: TransactionError };

export interface LedgerOptions {
  /** null keeps everything in memory. */
  readonly stateDirectory: string | null;
  readonly finalizedLagSlots: bigint;
}

/**
 * Opens a ledger on an SVM that holds genesis and nothing else: what was committed earlier is put on top.
 * The SVM's own checks of signatures, blockhashes and duplicates must be off; the ledger does them.
 */
export function openLedger(svm: LiteSVM, runtime: Runtime, options: LedgerOptions): Ledger {
  const store = openStore(options.stateDirectory);
  const seed = bytesOr(store.value('seed'), () => new Uint8Array(randomBytes(32)));
  const slots = createSlots(
    svm,
    {
      seed,
      slot: integerOr(store.value('slot'), 0n) + 1n,
      offsetSeconds: integerOr(store.value('offsetSeconds'), 0n),
      unixTimestamp: integerOr(store.value('unixTimestamp'), 0n),
    },
    options.finalizedLagSlots,
  );
  for (const account of store.accounts()) svm.setAccount(account.exists ? account : emptyAccount(account.address));
  const lock = createStateLock();
  const listeners: (() => Promise<void>)[] = [];
  const commitListeners: ((executed: readonly ExecutedAttempt[]) => void)[] = [];
  store.commit({ values: { ...slots.state() } });

  const attempt = (transaction: WireTransaction, checkLifetime: boolean) =>
    attemptTransaction({ svm, runtime, slots, store }, transaction, { checkLifetime });
  const record = (attempts: readonly Attempt[]) => {
    const executed = attempts.filter((entry) => entry.kind === 'executed');
    const changed = new Map<Address, MaybeEncodedAccount>();
    for (const { after } of executed) for (const [address, account] of after) changed.set(address, account);
    store.commit({
      values: { ...slots.state() },
      accounts: changed.values(),
      transactions: executed.map(({ record: entry, before }) => ({ record: entry, addresses: [...before.keys()] })),
    });
    for (const listener of commitListeners) listener(executed);
  };

  return {
    svm,
    slots,
    store,
    read: lock.read,
    execute: (transaction, { keepFailure }) =>
      lock.change(async () => {
        const outcome = await attempt(transaction, true);
        if (outcome.kind === 'refused') return outcome;
        if (outcome.record.err !== null && !keepFailure) restoreAccounts(svm, outcome.before);
        else record([outcome]);
        return outcome;
      }),
    simulate: (transaction, { checkLifetime }, look) =>
      lock.change(async () => {
        const outcome = await attempt(transaction, checkLifetime);
        try {
          return look(outcome);
        } finally {
          if (outcome.kind === 'executed') restoreAccounts(svm, outcome.before);
        }
      }),
    executeAtomically: (transactions) =>
      lock.change(async () => {
        const attempts: Attempt[] = [];
        const before = new Map<Address, MaybeEncodedAccount>();
        for (const [position, transaction] of transactions.entries()) {
          const outcome = await attempt(transaction, true);
          if (outcome.kind === 'executed') rememberOldest(before, outcome.before);
          const err = outcome.kind === 'refused' ? outcome.err : outcome.record.err;
          if (err !== null) {
            restoreAccounts(svm, before);
            return { landed: false, failedPosition: position, err };
          }
          attempts.push(outcome);
        }
        record(attempts);
        return { landed: true, slot: slots.current() };
      }),
    advance: async ({ slots: count = 1n, seconds = 0n } = {}) => {
      await lock.change(async () => {
        slots.advance(count, seconds);
        store.commit({ values: { ...slots.state() } });
        store.prune(slots.current() - BLOCKHASH_VALID_SLOTS);
      });
      await Promise.all(listeners.map((listener) => listener()));
    },
    onSlot: (listener) => listeners.push(listener),
    onCommit: (listener) => commitListeners.push(listener),
    close: () => lock.change(async () => store.close()),
  };
}

function rememberOldest(oldest: Map<Address, MaybeEncodedAccount>, captured: CapturedAccounts): void {
  for (const [address, account] of captured) if (!oldest.has(address)) oldest.set(address, account);
}

function integerOr(content: bigint | Uint8Array | null, otherwise: bigint): bigint {
  return typeof content === 'bigint' ? content : otherwise;
}

function bytesOr(content: bigint | Uint8Array | null, otherwise: () => Uint8Array): Uint8Array {
  return content instanceof Uint8Array ? content : otherwise();
}
