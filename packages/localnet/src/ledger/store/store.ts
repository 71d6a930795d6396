import type { Address } from '@solana/kit';
import type { CapturedAccounts } from '../account-journal.ts';
import type { HeldAccount } from '../svm-accounts.ts';
import { type NumberedTransaction, openDatabase } from './database.ts';
import { createHistory, type Page } from './history.ts';
import type { TransactionRecord, TransactionSummary } from './transaction-record.ts';

/** Transactions kept in the history; older ones are forgotten once their blockhash is, so memory and file stay bounded. */
const HISTORY_TRANSACTIONS = 50_000;
/** Forgetting goes through the whole index, so it is done for many transactions at a time. */
const PRUNE_STEP = 5_000;

/** The part of the ledger that outlives the process, and the history of transactions. */
export interface Store {
  value(key: string): bigint | Uint8Array | null;
  /** All accounts that were ever put, one or more times; the last one counts. */
  accounts(): Iterable<HeldAccount>;
  /** Takes changes in: from now on they are answered with. They are on disk once `flush` or `stored` says so. */
  put(changes: {
    readonly values?: Readonly<Record<string, bigint | Uint8Array>>;
    readonly accounts?: CapturedAccounts;
    readonly transactions?: Iterable<{ readonly record: TransactionRecord; readonly addresses: readonly Address[] }>;
  }): void;
  /**
   * Writes what was put, all or nothing; survives the process being killed the moment it returns. What could not be
   * written is tried again with the next.
   */
  flush(): void;
  /** Ends when all that has been put is on disk. Those who ask within one turn of the event loop share one write. */
  stored(): Promise<void>;
  summary(signature: string): TransactionSummary | null;
  transaction(signature: string): TransactionRecord | null;
  /** Newest first. */
  transactionsOf(address: Address, page: Page): TransactionSummary[];
  /** In the order they were executed. */
  transactionsIn(slot: bigint): TransactionRecord[];
  /** The first slot whose transactions are all still remembered. */
  firstAvailableSlot(): bigint;
  /** Transactions up to and with a slot, since genesis. */
  transactionCount(slot: bigint): bigint;
  blockTime(slot: bigint): bigint | null;
  /** Forgets the transactions of a slot and of all later ones, and puts accounts back, at once and on disk. */
  abandon(firstSlot: bigint, accounts: CapturedAccounts): void;
  /** Keeps memory and file in bounds: forgets transactions beyond the bound that are older than the slot. */
  tidy(olderThanSlot: bigint): void;
  close(): void;
}

/**
 * Opens the store in a directory, or in memory when there is none: then no account is written.
 * Throws when another process has the directory open, or when it holds a ledger of another format.
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
    transactionsOf: history.ofAddress,
    transactionsIn: (slot) => {
      const start = history.firstFrom(slot);
      return Array.from({ length: history.firstFrom(slot + 1n) - start }, (_, index) => record(start + index)).filter(
        (found) => found !== null,
      );
    },
    firstAvailableSlot: () => {
      const oldest = history.oldest();
      // Forgetting may have cut through the slot of the oldest that is left.
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
