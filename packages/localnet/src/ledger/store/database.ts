import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '@flywheel/protocol';
import { parseJson } from '@flywheel/solana-rpc';
import type { Address, Signature } from '@solana/kit';
import { Account } from 'litesvm';
import { stringifyJson } from '../../json.ts';
import type { TransactionError } from '../../runtime.ts';
import type { CapturedAccounts } from '../account-journal.ts';
import type { HeldAccount } from '../svm-accounts.ts';
import type { TransactionMeta } from '../transaction-meta.ts';
import type { TransactionRecord, TransactionSummary } from './transaction-record.ts';

const FILE = 'ledger.sqlite';
/** Version of the tables. A ledger of another version is rejected, not misread. */
const FORMAT = 3;
/**
 * Pages of 4 KiB that the write-ahead log collects before a checkpoint writes and syncs them: more pages let several
 * writes of a page become one. SQLite's default of 1,000 makes commits a third slower.
 */
const CHECKPOINT_PAGES = 8_000;
/** Account writes between two folds: a fold takes about 0.1 s, and a start reads all writes. */
const FOLDED_CHANGES = 50_000n;

// A commit only appends rows, because a row in the middle of a table costs a page of its own, more than the rest of the
// commit. So transactions have no index on disk (the history has it in memory), and account writes are appended and
// later folded into a table by key.
const TABLES = `
  create table if not exists accounts (
    key blob primary key, lamports integer, owner blob, executable integer, data blob
  ) strict, without rowid;
  create table if not exists account_changes (
    number integer primary key, key blob, lamports integer, owner blob, executable integer, data blob
  ) strict;
  create table if not exists transactions (
    number integer primary key, signature text, slot integer, block_time integer, err text, addresses text,
    wire blob, meta text
  ) strict;
`;

/** The error of a ledger that cannot be opened. Its message names the directory and the reason. */
export class LedgerError extends Error {}

/** The file of a ledger. Only the store uses it. */
export interface LedgerDatabase {
  value(key: string): bigint | Uint8Array | null;
  /** Every account that was written, one or more times; the last row counts. */
  accounts(): Iterable<HeldAccount>;
  /** Number of the oldest transaction. */
  oldestNumber(): number | null;
  /** Entries for the index of transactions, in the order of execution. */
  summaries(): Iterable<IndexedSummary>;
  record(number: number): TransactionRecord | null;
  /** Writes all changes or none; they survive a kill of the process as soon as it returns. */
  write(changes: Changes): void;
  /** Folds account writes into a table by key once there are enough of them. */
  foldAccounts(): void;
  /** Removes the transactions from a number on and writes accounts, all or nothing. */
  abandonFrom(number: number, accounts: CapturedAccounts): void;
  /** Removes the transactions below a number. */
  forgetBelow(number: number): void;
  close(): void;
}

export interface IndexedSummary {
  readonly summary: TransactionSummary;
  readonly addresses: readonly Address[];
}

export interface Changes {
  readonly values: ReadonlyMap<string, bigint | Uint8Array>;
  readonly accounts: CapturedAccounts;
  readonly transactions: readonly NumberedTransaction[];
}

export interface NumberedTransaction {
  readonly number: number;
  readonly record: TransactionRecord;
  /** All accounts of the transaction. */
  readonly addresses: readonly Address[];
}

/**
 * Opens the database in a directory, or in memory without one.
 * @throws LedgerError if the directory cannot be written, if another process has it open, or if it contains a ledger of another
 * format.
 */
export function openDatabase(directory: string | null): LedgerDatabase {
  const database = withLedgerError(`The ledger in ${directory} cannot be opened`, () => {
    if (directory) mkdirSync(directory, { recursive: true });
    return new DatabaseSync(directory ? join(directory, FILE) : ':memory:');
  });
  try {
    return prepareLedger(database, directory);
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Removes the ledger from a directory, and no other file.
 * @throws LedgerError if the directory cannot be written.
 */
export function forgetLedger(directory: string): void {
  withLedgerError(`The ledger in ${directory} cannot be deleted`, () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(directory, `${FILE}${suffix}`), { force: true });
  });
}

/** SQLite’s code for a file that another process has locked. */
const SQLITE_BUSY = 5;

function withLedgerError<Result>(sentence: string, work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    const isInUse = cause instanceof Error && 'errcode' in cause && cause.errcode === SQLITE_BUSY;
    const reason = isInUse ? '; is another process using it?' : `: ${messageOf(cause)}.`;
    throw new LedgerError(`${sentence}${reason}`, { cause });
  }
}

type Row = Record<string, unknown>;

function prepareLedger(database: DatabaseSync, directory: string | null): LedgerDatabase {
  prepareFile(database, directory);
  const select = prepareReads(database);
  const write = prepareWrites(database);
  const inTransaction = (work: () => void) => {
    write.begin.run();
    try {
      work();
      write.commit.run();
    } catch (error) {
      if (database.isTransaction) write.rollback.run();
      throw error;
    }
  };
  return {
    value: (key) => toValue(select.value.get(key)?.value),
    accounts: function* () {
      for (const row of select.accounts.iterate()) yield toAccount(row);
      for (const row of select.accountChanges.iterate()) yield toAccount(row);
    },
    oldestNumber: () => {
      const number = select.oldest.get()?.number;
      return typeof number === 'bigint' ? Number(number) : null;
    },
    summaries: function* () {
      for (const row of select.summaries.iterate()) yield toIndexedSummary(row);
    },
    record: (number) => toRecord(select.record.get(number)),
    write: ({ values, accounts, transactions }) => {
      inTransaction(() => {
        for (const [key, content] of values) write.value.run(key, content);
        for (const account of accounts.values()) writeAccount(write, account);
        for (const transaction of transactions) writeTransaction(write, transaction);
      });
    },
    foldAccounts: () => {
      if (toInteger(select.changeCount.get()?.changes) < FOLDED_CHANGES) return;
      inTransaction(() => {
        write.fold.run();
        write.forgetChanges.run();
      });
    },
    abandonFrom: (number, accounts) => {
      inTransaction(() => {
        write.abandon.run(number);
        for (const account of accounts.values()) writeAccount(write, account);
      });
    },
    forgetBelow: (number) => {
      write.forget.run(number);
    },
    close: () => database.close(),
  };
}

function prepareFile(database: DatabaseSync, directory: string | null): void {
  withLedgerError(`The ledger in ${directory} cannot be opened`, () => {
    // Exclusive, because two processes on one ledger would overwrite each other's changes. A commit in WAL mode without
    // a sync survives SIGKILL; a power failure may lose the last commits, never the file's consistency.
    database.exec('pragma locking_mode = exclusive; pragma journal_mode = wal; pragma synchronous = normal;');
    database.exec(`pragma wal_autocheckpoint = ${CHECKPOINT_PAGES};`);
    database.exec('create table if not exists ledger (key text primary key, value any) strict, without rowid;');
    database.exec(`insert or ignore into ledger values ('format', ${FORMAT});`);
  });
  const format = database.prepare("select value from ledger where key = 'format'").get()?.value;
  if (format !== FORMAT) {
    throw new LedgerError(
      `The ledger in ${directory} has format ${format}, this version reads ${FORMAT}: it must be reset.`,
    );
  }
  database.exec(TABLES);
}

function prepareReads(database: DatabaseSync) {
  const statement = (sql: string) => {
    const prepared = database.prepare(sql);
    prepared.setReadBigInts(true); // lamports exceed a double
    return prepared;
  };
  const summary = 'signature, slot, block_time, err';
  return {
    value: statement('select value from ledger where key = ?'),
    accounts: statement('select key, lamports, owner, executable, data from accounts'),
    accountChanges: statement('select key, lamports, owner, executable, data from account_changes order by number'),
    changeCount: statement('select coalesce(max(number) - min(number) + 1, 0) as changes from account_changes'),
    oldest: statement('select min(number) as number from transactions'),
    summaries: statement(`select ${summary}, addresses from transactions order by number`),
    record: statement(`select ${summary}, wire, meta from transactions where number = ?`),
  };
}

function prepareWrites(database: DatabaseSync) {
  return {
    begin: database.prepare('begin'),
    commit: database.prepare('commit'),
    rollback: database.prepare('rollback'),
    value: database.prepare('insert or replace into ledger values (?, ?)'),
    account: database.prepare('insert into account_changes values (null, ?, ?, ?, ?, ?)'),
    // In the order of keys, so that each page is visited once; the last of several writes counts.
    fold: database.prepare(
      `insert or replace into accounts select key, lamports, owner, executable, data from account_changes
       order by key, number`,
    ),
    forgetChanges: database.prepare('delete from account_changes'),
    transaction: database.prepare('insert into transactions values (?, ?, ?, ?, ?, ?, ?, ?)'),
    abandon: database.prepare('delete from transactions where number >= ?'),
    forget: database.prepare('delete from transactions where number < ?'),
  };
}

type Writes = ReturnType<typeof prepareWrites>;

/**
 * Writes an account. A removed account keeps a row without an owner, because the next start must remove it from genesis
 * too.
 */
function writeAccount(write: Writes, { key, account }: HeldAccount): void {
  if (account === null) write.account.run(key, 0n, null, 0, null);
  else write.account.run(key, account.lamports(), account.owner(), account.executable() ? 1 : 0, account.data());
}

function writeTransaction(write: Writes, { number, record, addresses }: NumberedTransaction): void {
  const { signature, slot, blockTime, err, wire, meta } = record;
  const errText = err === null ? null : stringifyJson(err);
  write.transaction.run(number, signature, slot, blockTime, errText, addresses.join(' '), wire, stringifyJson(meta));
}

function toAccount(row: Row): HeldAccount {
  // Written from a HeldAccount: key is a blob, and so are owner and data unless the account did not exist.
  const { key, owner, data } = row as { key: Uint8Array; owner: Uint8Array | null; data: Uint8Array };
  const account = owner && new Account(toInteger(row.lamports), data, owner, row.executable === 1n, 0n);
  return { key, account };
}

function toIndexedSummary(row: Row): IndexedSummary {
  const addresses = String(row.addresses).split(' ') as Address[]; // written from Addresses
  return { summary: toSummary(row), addresses };
}

function toSummary(row: Row): TransactionSummary {
  return {
    signature: row.signature as Signature, // written from a Signature
    slot: toInteger(row.slot),
    blockTime: toInteger(row.block_time),
    err: row.err === null ? null : (parseJson(String(row.err)) as TransactionError), // written from one
  };
}

function toRecord(row: Row | undefined): TransactionRecord | null {
  if (!row) return null;
  // Written from a TransactionRecord: wire is a blob, meta the text of a TransactionMeta.
  return { ...toSummary(row), wire: row.wire as Uint8Array, meta: parseJson(String(row.meta)) as TransactionMeta };
}

function toValue(content: unknown): bigint | Uint8Array | null {
  return typeof content === 'bigint' || content instanceof Uint8Array ? content : null;
}

function toInteger(content: unknown): bigint {
  return typeof content === 'bigint' ? content : 0n;
}
