import { randomBytes } from 'node:crypto';
import { MAX_BLOCKHASH_AGE } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import type { Runtime, TransactionError } from '../runtime.ts';
import { type WireTransaction, withLifetime } from '../wire/wire-transaction.ts';
import { type CapturedAccounts, captureAccounts, restoreAccounts } from './account-journal.ts';
import { type Attempt, attemptTransaction } from './attempt.ts';
import { type BankState, readBank } from './bank-state.ts';
import { createNode, type Node, type NodeOptions } from './node.ts';
import { type ChainDeps, SYSVARS } from './simulate.ts';
import { createSlots, type Slots } from './slots.ts';
import { openStore } from './store/store.ts';
import { type HeldAccount, putAccounts } from './svm-accounts.ts';
import { createVersions } from './versions.ts';

/**
 * The state of the cluster, and the only functions that change it. A change never yields to the event loop, so no
 * reader sees half of it. It can be read at once, and is on disk when `stored` resolves or the next slot begins.
 */
export interface Ledger {
  readonly slots: Slots;
  /** The node that has the complete state. */
  readonly node: Node;
  /** Creates a node that lags behind, or has a short history. */
  nodeWith(options: NodeOptions): Node;
  /** Accounts that a complete slot wrote, or that were written everywhere while it was built. */
  writtenIn(slot: bigint): ReadonlySet<Address>;
  /** Reads the accounts in the bank of any recent slot. */
  bankAt(slot: bigint): BankState;
  /** Resolves when every change is on disk; nothing is answered before. */
  stored(): Promise<void>;
  /**
   * Executes a transaction with verified signatures. A failed one is recorded and pays its fee. Without `checkLifetime`
   * it may have any blockhash.
   */
  execute(transaction: WireTransaction, options?: { readonly checkLifetime: boolean }): Attempt;
  /**
   * Executes a transaction in every bank, as if it were part of genesis: its result is visible at every commitment at
   * once. A failed one has no effect.
   */
  executeEverywhere(transaction: WireTransaction): Attempt;
  /** Executes all transactions in order or none. Reports position and error of the first that fails. */
  executeAtomically(transactions: readonly WireTransaction[]): AtomicOutcome;
  /** Returns what `executeAtomically` would return now, and changes nothing. */
  simulateAtomically(transactions: readonly WireTransaction[]): AtomicOutcome;
  /**
   * Completes the current slot; further slots or seconds pass at once. Resolves when all slot listeners have finished.
   */
  advance(step?: { readonly slots?: bigint; readonly seconds?: bigint }): Promise<void>;
  /**
   * Abandons the newest blocks from a slot on, the current one included: their transactions are undone, and empty
   * blocks with other hashes replace them.
   * @throws RangeError for a finalized slot.
   */
  abandon(firstSlot: bigint): void;
  /** Adds a listener that is called before the execution of transactions changes the newest bank. It may simulate. */
  beforeExecution(listener: () => void): void;
  /** Adds a listener for the start of a slot, which may change the ledger. */
  onSlot(listener: () => Promise<void>): void;
  /** Adds a listener for executed transactions, those of a bundle together. It may not change the ledger. */
  onCommit(listener: (executed: readonly ExecutedAttempt[]) => void): void;
  close(): void;
}

export type ExecutedAttempt = Extract<Attempt, { kind: 'executed' }>;

export type AtomicOutcome =
  | { readonly landed: true; readonly slot: bigint }
  | { readonly landed: false; readonly failedPosition: number; readonly err: TransactionError };

export interface LedgerOptions {
  /** Directory of the state; null keeps everything in memory. */
  readonly stateDirectory: string | null;
  readonly finalizedLagSlots: bigint;
}

/**
 * Opens a ledger on an SVM with nothing but genesis: earlier state is restored, and counts as finalized. The SVM's own
 * checks of signatures, blockhashes and duplicates must be off, because the ledger does them.
 */
export function openLedger(svm: LiteSVM, runtime: Runtime, options: LedgerOptions): Ledger {
  const store = openStore(options.stateDirectory);
  const lastSlot = integerOr(store.value('slot'), 0n);
  const versions = createVersions(svm, lastSlot);
  const slots = createSlots(
    svm,
    {
      seed: bytesOr(store.value('seed'), () => new Uint8Array(randomBytes(32))),
      slot: lastSlot + 1n,
      offsetSeconds: integerOr(store.value('offsetSeconds'), 0n),
      unixTimestamp: integerOr(store.value('unixTimestamp'), 0n),
      genesisTimestamp: integerOr(store.value('genesisTimestamp'), 0n),
      forks: bytesOr(store.value('forks'), () => new Uint8Array()),
    },
    {
      finalizedLagSlots: options.finalizedLagSlots,
      onEnter: (slot) => versions.keep(slot, captureAccounts(svm, SYSVARS)),
    },
  );
  putAccounts(svm, store.accounts());
  const chain: ChainDeps = { svm, runtime, slots, versions, store };
  /** Accounts by the slot in which they were written everywhere, until it is finalized. */
  const writtenEverywhere = new Map<bigint, ReadonlySet<Address>>();
  const executionListeners: (() => void)[] = [];
  const slotListeners: (() => Promise<void>)[] = [];
  const commitListeners: ((executed: readonly ExecutedAttempt[]) => void)[] = [];
  const putSlot = () => {
    store.put({ values: { ...slots.state() } });
    store.flush();
  };
  putSlot();

  const announceExecution = () => {
    for (const listener of executionListeners) listener();
  };
  const attempt = (transaction: WireTransaction, checkLifetime = true) =>
    attemptTransaction({ svm, runtime, slots, store, bankSlot: slots.current() }, transaction, { checkLifetime });
  const record = (executed: readonly ExecutedAttempt[]) => {
    for (const { record: entry, before, after } of executed) {
      store.put({ accounts: after, transactions: [{ record: entry, addresses: [...before.keys()] }] });
    }
    for (const listener of commitListeners) listener(executed);
  };
  /** Executes transactions up to the first that fails, and undoes them all if one does. Nothing is recorded. */
  const attemptAll = (transactions: readonly WireTransaction[]) => {
    const executed: ExecutedAttempt[] = [];
    const before = new Map<Address, HeldAccount>();
    for (const [position, transaction] of transactions.entries()) {
      const each = attempt(transaction);
      if (each.kind === 'executed') rememberOldest(before, each.before);
      const err = each.kind === 'refused' ? each.err : each.record.err;
      if (err !== null) {
        restoreAccounts(svm, before);
        const outcome: AtomicOutcome = { landed: false, failedPosition: position, err };
        return { executed, before, outcome };
      }
      if (each.kind === 'executed') executed.push(each);
    }
    const outcome: AtomicOutcome = { landed: true, slot: slots.current() };
    return { executed, before, outcome };
  };
  const keepVersions = ({ before, after }: ExecutedAttempt) =>
    versions.keep(slots.current(), new Map([...before].filter(([address]) => after.has(address))));

  return {
    slots,
    node: createNode(chain, { behindSlots: 0n, historySlots: null }),
    nodeWith: (wanted) => createNode(chain, wanted),
    writtenIn: (slot) => {
      const everywhere = writtenEverywhere.get(slot);
      return everywhere ? versions.changedIn(slot).union(everywhere) : versions.changedIn(slot);
    },
    bankAt: (slot) => readBank(chain, slot),
    stored: store.stored,
    execute: (transaction, { checkLifetime } = { checkLifetime: true }) => {
      announceExecution();
      const outcome = attempt(transaction, checkLifetime);
      if (outcome.kind === 'refused') return outcome;
      keepVersions(outcome);
      record([outcome]);
      return outcome;
    },
    executeEverywhere: (transaction) => {
      const outcome = attempt(transaction, false);
      if (outcome.kind === 'refused') return outcome;
      if (outcome.record.err !== null) {
        restoreAccounts(svm, outcome.before);
        return outcome;
      }
      versions.rewrite([...outcome.after.keys()], (state) => {
        putAccounts(svm, state.values());
        const { err } = runtime.execute(withLifetime(transaction, slots.visibleBlockhash(slots.current())));
        return err === null ? captureAccounts(svm, state.keys()) : null;
      });
      putAccounts(svm, outcome.after.values());
      const written = writtenEverywhere.get(slots.current()) ?? new Set();
      writtenEverywhere.set(slots.current(), written.union(new Set(outcome.after.keys())));
      record([outcome]);
      return outcome;
    },
    executeAtomically: (transactions) => {
      announceExecution();
      const { executed, outcome } = attemptAll(transactions);
      if (!outcome.landed) return outcome;
      for (const each of executed) keepVersions(each);
      record(executed);
      return outcome;
    },
    simulateAtomically: (transactions) => {
      const { before, outcome } = attemptAll(transactions);
      if (outcome.landed) restoreAccounts(svm, before);
      return outcome;
    },
    advance: async ({ slots: count = 1n, seconds = 0n } = {}) => {
      slots.advance(count, seconds);
      // Every state that a reader sees as confirmed from now on is on disk.
      putSlot();
      store.tidy(slots.current() - MAX_BLOCKHASH_AGE);
      await Promise.all(slotListeners.map((listener) => listener()));
      versions.prune(slots.at('finalized'));
      for (const slot of writtenEverywhere.keys()) if (slot <= slots.at('finalized')) writtenEverywhere.delete(slot);
      await store.stored();
    },
    abandon: (firstSlot) => {
      if (firstSlot <= slots.at('finalized')) throw new RangeError(`Slot ${firstSlot} is finalized.`);
      store.abandon(firstSlot, versions.rollBack(firstSlot - 1n, SYSVARS));
      slots.fork(firstSlot);
      putSlot();
    },
    beforeExecution: (listener) => executionListeners.push(listener),
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
