import type { Address } from '@solana/kit';
import type { CapturedAccounts } from '../account-journal.ts';
import type { HeldAccount } from '../svm-accounts.ts';
import { type NumberedTransaction, openDatabase } from './database.ts';
import { createHistory, type Page } from './history.ts';
import type { TransactionRecord, TransactionSummary } from './transaction-record.ts';

/**
 * Transactions in the history; older ones are deleted once their blockhash has expired, so memory and file stay
 * bounded.
 */
const HISTORY_TRANSACTIONS = 50_000;
/** Deletion scans the whole index, so it handles many transactions at a time. */
const PRUNE_STEP = 5_000;

/** The history of transactions. */
export interface TransactionHistory {
  summary(signature: string): TransactionSummary | null;
  transaction(signature: string): TransactionRecord | null;
  /** Position of a transaction in its block. */
  position(signature: string): number;
  /** Lists transactions, newest first. */
  transactionsOf(address: Address, page: Page): TransactionSummary[];
  /** Lists transactions in the order of their execution. */
  transactionsIn(slot: bigint): TransactionRecord[];
  /** First slot with a complete history. */
  firstAvailableSlot(): bigint;
  /** Number of transactions since genesis, up to and including a slot. */
  transactionCount(slot: bigint): bigint;
}

/** The part of the ledger that survives the process, and the history of transactions. */
export interface Store extends TransactionHistory {
  value(key: string): bigint | Uint8Array | null;
  /** Every account that was put, one or more times; the last one counts. */
  accounts(): Iterable<HeldAccount>;
  /** Adds changes, which reads show from now on. They are on disk after `flush` or `stored`. */
  put(changes: {
    readonly values?: Readonly<Record<string, bigint | Uint8Array>>;
    readonly accounts?: CapturedAccounts;
    readonly transactions?: Iterable<{ readonly record: TransactionRecord; readonly addresses: readonly Address[] }>;
  }): void;
  /**
   * Writes all pending changes or none; they survive a kill of the process as soon as it returns. A failed write is
   * repeated with the next one.
   */
  flush(): void;
  /** Resolves when all pending changes are on disk. Calls within one turn of the event loop share one write. */
  stored(): Promise<void>;
  blockTime(slot: bigint): bigint | null;
  /** Deletes the transactions of a slot and of all later ones, and restores accounts, at once and on disk. */
  abandon(firstSlot: bigint, accounts: CapturedAccounts): void;
  /** Keeps memory and file bounded: deletes transactions over the limit that are older than the slot. */
  tidy(olderThanSlot: bigint): void;
  close(): void;
}

/**
 * Opens the store in a directory, or in memory without one: then accounts are not written.
 * @throws Error if another process has the directory open, or if it contains a ledger of another format.
 */
export function openStore(directory: string | null): Store {
  const database = openDatabase(directory);
  const history = createHistory(database.oldestNumber() ?? 1);
  for (const { summary, addresses } of database.summaries()) history.add(summary, addresses);
  let pending = noChanges();
  let storing: Promise<void> | null = null;

  const isStored = () => pending.values.size + pending.accounts.size + pending.transactions.length === 0;
  const flush = () => {
    if (isStored()) return;
    database.write(pending);
    pending = noChanges();
  };
  const record = (number: number) => {
    flush();
    return database.record(number);
  };
  return {
    value: database.value,
    accounts: database.accounts,
    put: ({ values = {}, accounts = new Map(), transactions = [] }) => {
      for (const [key, content] of Object.entries(values)) pending.values.set(key, content);
      if (directory) for (const [address, account] of accounts) pending.accounts.set(address, account);
      for (const { record: executed, addresses } of transactions) {
        const { signature, slot, blockTime, err } = executed;
        history.add({ signature, slot, blockTime, err }, addresses);
        pending.transactions.push({ number: history.newest(), record: executed, addresses });
      }
    },
    flush,
    stored: async () => {
      if (isStored()) return;
      storing ??= new Promise((resolve) => setImmediate(resolve)).then(() => {
        storing = null;
        flush();
      });
      await storing;
    },
    summary: (signature) => {
      const number = history.find(signature);
      return number === null ? null : history.at(number);
    },
    transaction: (signature) => {
      const number = history.find(signature);
      return number === null ? null : record(number);
    },
    position: (signature) => {
      const number = history.find(signature) ?? 0;
      return number - history.firstFrom(history.at(number)?.slot ?? 0n);
    },
    transactionsOf: history.ofAddress,
    transactionsIn: (slot) => {
      const start = history.firstFrom(slot);
      return Array.from({ length: history.firstFrom(slot + 1n) - start }, (_, index) => record(start + index)).filter(
        (found) => found !== null,
      );
    },
    firstAvailableSlot: () => {
      const oldest = history.oldest();
      // The slot of the oldest transaction may be incomplete.
      return oldest > 1 ? (history.at(oldest)?.slot ?? 0n) + 1n : 0n;
    },
    transactionCount: (slot) => BigInt(history.firstFrom(slot + 1n) - 1),
    blockTime: (slot) => {
      const first = history.at(history.firstFrom(slot));
      return first?.slot === slot ? first.blockTime : null;
    },
    abandon: (firstSlot, accounts) => {
      flush();
      const number = history.firstFrom(firstSlot);
      database.abandonFrom(number, directory ? accounts : new Map());
      history.forgetFrom(number);
    },
    tidy: (olderThanSlot) => {
      database.foldAccounts();
      const beyond = history.newest() - HISTORY_TRANSACTIONS + 1;
      if (beyond - history.oldest() < PRUNE_STEP) return;
      const firstKept = Math.min(beyond, history.firstFrom(olderThanSlot));
      if (firstKept <= history.oldest()) return;
      flush();
      database.forgetBelow(firstKept);
      history.forgetBelow(firstKept);
    },
    close: () => {
      try {
        flush();
      } finally {
        database.close();
      }
    },
  };
}

function noChanges() {
  return {
    values: new Map<string, bigint | Uint8Array>(),
    accounts: new Map<Address, HeldAccount>(),
    transactions: [] as NumberedTransaction[],
  };
}
