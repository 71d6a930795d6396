import { randomBytes } from 'node:crypto';
import type { Address } from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import type { Runtime, TransactionError } from '../runtime.ts';
import type { WireTransaction } from '../wire/wire-transaction.ts';
import { type CapturedAccounts, restoreAccounts } from './account-journal.ts';
import { type Attempt, attemptTransaction } from './attempt.ts';
import { BLOCKHASH_VALID_SLOTS, createSlots, type Slots } from './slots.ts';
import { openStore, type Store } from './store/store.ts';
import { type HeldAccount, putAccount } from './svm-accounts.ts';

/**
 * The state of the cluster, and the only ways to change it. A change never yields to the event loop, so nobody reads in
 * the middle of one. It can be read at once, and is on disk when `stored` ends or the next slot begins.
 */
export interface Ledger {
  readonly svm: LiteSVM;
  readonly slots: Slots;
  /** History of transactions. */
  readonly store: Omit<Store, 'value' | 'accounts' | 'put' | 'flush' | 'stored' | 'tidy' | 'close'>;
  /** Ends when everything that has been done is on disk: nothing is answered before. */
  stored(): Promise<void>;
  /**
   * Executes a transaction whose signatures have been verified. With `keepFailure: false` a failed one leaves no trace
   * (that is a preflight); otherwise it is recorded and pays its fee.
   */
  execute(transaction: WireTransaction, options: { readonly keepFailure: boolean }): Attempt;
  /** Executes and puts everything back. `look` sees the state that the transaction leaves, before that. */
  simulate<T>(
    transaction: WireTransaction,
    options: { readonly checkLifetime: boolean },
    look: (attempt: Attempt) => T,
  ): T;
  /** Executes all in order or none. Tells the position and the error of the first that fails. */
  executeAtomically(transactions: readonly WireTransaction[]): AtomicOutcome;
  /** Completes the current slot; further slots or seconds pass at once. Ends when all who wait for slots are done. */
  advance(step?: { readonly slots?: bigint; readonly seconds?: bigint }): Promise<void>;
  /** Called when a slot has begun; may change the ledger. */
  onSlot(listener: () => Promise<void>): void;
  /** Called with transactions that have just been executed, those of a bundle together. May not change the ledger. */
  onCommit(listener: (executed: readonly ExecutedAttempt[]) => void): void;
  close(): void;
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
  const slots = createSlots(
    svm,
    {
      seed: bytesOr(store.value('seed'), () => new Uint8Array(randomBytes(32))),
      slot: integerOr(store.value('slot'), 0n) + 1n,
      offsetSeconds: integerOr(store.value('offsetSeconds'), 0n),
      unixTimestamp: integerOr(store.value('unixTimestamp'), 0n),
    },
    options.finalizedLagSlots,
  );
  for (const account of store.accounts()) putAccount(svm, account);
  const slotListeners: (() => Promise<void>)[] = [];
  const commitListeners: ((executed: readonly ExecutedAttempt[]) => void)[] = [];
  const putSlot = () => {
    store.put({ values: { ...slots.state() } });
    store.flush();
  };
  putSlot();

  const attempt = (transaction: WireTransaction, checkLifetime: boolean) =>
    attemptTransaction({ svm, runtime, slots, store }, transaction, { checkLifetime });
  const record = (executed: readonly ExecutedAttempt[]) => {
    for (const { record: entry, before, after } of executed) {
      store.put({ accounts: after, transactions: [{ record: entry, addresses: [...before.keys()] }] });
    }
    for (const listener of commitListeners) listener(executed);
  };

  return {
    svm,
    slots,
    store,
    stored: store.stored,
    execute: (transaction, { keepFailure }) => {
      const outcome = attempt(transaction, true);
      if (outcome.kind === 'refused') return outcome;
      if (outcome.record.err !== null && !keepFailure) restoreAccounts(svm, outcome.before);
      else record([outcome]);
      return outcome;
    },
    simulate: (transaction, { checkLifetime }, look) => {
      const outcome = attempt(transaction, checkLifetime);
      try {
        return look(outcome);
      } finally {
        if (outcome.kind === 'executed') restoreAccounts(svm, outcome.before);
      }
    },
    executeAtomically: (transactions) => {
      const executed: ExecutedAttempt[] = [];
      const before = new Map<Address, HeldAccount>();
      for (const [position, transaction] of transactions.entries()) {
        const outcome = attempt(transaction, true);
        if (outcome.kind === 'executed') rememberOldest(before, outcome.before);
        const err = outcome.kind === 'refused' ? outcome.err : outcome.record.err;
        if (err !== null) {
          restoreAccounts(svm, before);
          return { landed: false, failedPosition: position, err };
        }
        if (outcome.kind === 'executed') executed.push(outcome);
      }
      record(executed);
      return { landed: true, slot: slots.current() };
    },
    advance: async ({ slots: count = 1n, seconds = 0n } = {}) => {
      slots.advance(count, seconds);
      // Whatever is confirmed from now on is on disk before anyone can ask.
      putSlot();
      store.tidy(slots.current() - BLOCKHASH_VALID_SLOTS);
      await Promise.all(slotListeners.map((listener) => listener()));
      await store.stored();
    },
    onSlot: (listener) => slotListeners.push(listener),
    onCommit: (listener) => commitListeners.push(listener),
    close: store.close,
  };
}

function rememberOldest(oldest: Map<Address, HeldAccount>, captured: CapturedAccounts): void {
  for (const [address, account] of captured) if (!oldest.has(address)) oldest.set(address, account);
}

function integerOr(content: bigint | Uint8Array | null, otherwise: bigint): bigint {
  return typeof content === 'bigint' ? content : otherwise;
}

function bytesOr(content: bigint | Uint8Array | null, otherwise: () => Uint8Array): Uint8Array {
  return content instanceof Uint8Array ? content : otherwise();
}
