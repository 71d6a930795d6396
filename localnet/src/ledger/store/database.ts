import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Address, lamports, type MaybeEncodedAccount, type Signature } from '@solana/kit';
import { parseJson, stringifyJson } from '../../json.ts';
import type { TransactionError } from '../../runtime.ts';
import type { TransactionMeta } from '../transaction-meta.ts';
import type { TransactionRecord, TransactionSummary } from './transaction-record.ts';

const FILE = 'ledger.sqlite';
/** Raised when the tables change: a ledger of another format is refused rather than misread. */
const FORMAT = 2;
/**
 * Pages of 4 KiB that the write-ahead log gathers before they are written to their places, and the disk synced: the
 * more there are, the more writes to the same page become one. SQLite's default of 1,000 makes commits a third slower.
 */
const CHECKPOINT_PAGES = 8_000;

// Transactions have no index: rows are added at one end and removed at the other. What finds them is the history.
const TABLES = `
  create table if not exists accounts (
    address text primary key, lamports integer, owner text, executable integer, data blob
  ) strict, without rowid;
  create table if not exists transactions (
    number integer primary key, signature text, slot integer, block_time integer, err text, addresses text,
    wire blob, meta text
  ) strict;
`;

/** The file in which a ledger lives on. Only the store uses it. */
export interface LedgerDatabase {
  value(key: string): bigint | Uint8Array | null;
  accounts(): Iterable<MaybeEncodedAccount>;
  /** The number of the first transaction that is there. */
  oldestNumber(): number | null;
  /** What the index of transactions is made of, in the order of execution. */
  summaries(): Iterable<IndexedSummary>;
  record(number: number): TransactionRecord | null;
  /** Writes all or nothing; survives the process being killed the moment it returns. */
  write(changes: Changes): void;
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
  readonly accounts: ReadonlyMap<Address, MaybeEncodedAccount>;
  readonly transactions: readonly NumberedTransaction[];
}

export interface NumberedTransaction {
  readonly number: number;
  readonly record: TransactionRecord;
  /** All accounts that the transaction names. */
  readonly addresses: readonly Address[];
}

/**
 * Opens the database in a directory, or one in memory when there is none.
 * Throws when another process has the directory open, or when it holds a ledger of another format.
 */
export function openDatabase(directory: string | null): LedgerDatabase {
  if (directory) mkdirSync(directory, { recursive: true });
  const database = new DatabaseSync(directory ? join(directory, FILE) : ':memory:');
  try {
    return prepareLedger(database, directory);
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Removes the ledger in a directory, and nothing else that lies there. */
export function forgetLedger(directory: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(directory, `${FILE}${suffix}`), { force: true });
}

type Row = Record<string, unknown>;

function prepareLedger(database: DatabaseSync, directory: string | null): LedgerDatabase {
  prepareFile(database, directory);
  const select = prepareReads(database);
  const write = prepareWrites(database);
  return {
    value: (key) => toValue(select.value.get(key)?.value),
    accounts: function* () {
      for (const row of select.accounts.iterate()) yield toAccount(row);
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
      write.begin.run();
      try {
        for (const [key, content] of values) write.value.run(key, content);
        for (const account of accounts.values()) writeAccount(write, account);
        for (const transaction of transactions) writeTransaction(write, transaction);
        write.commit.run();
      } catch (error) {
        if (database.isTransaction) write.rollback.run();
        throw error;
      }
    },
    forgetBelow: (number) => {
      write.forget.run(number);
    },
    close: () => database.close(),
  };
}

function prepareFile(database: DatabaseSync, directory: string | null): void {
  try {
    // Exclusive: two processes on one ledger would each overwrite what the other did. A commit in WAL mode without a
    // sync survives SIGKILL; a power cut may cost the last commits, never the file's consistency.
    database.exec('pragma locking_mode = exclusive; pragma journal_mode = wal; pragma synchronous = normal;');
    database.exec(`pragma wal_autocheckpoint = ${CHECKPOINT_PAGES};`);
    database.exec('create table if not exists ledger (key text primary key, value any) strict, without rowid;');
  } catch (cause) {
    throw new Error(`The ledger in ${directory} cannot be opened; is another process using it?`, { cause });
  }
  database.exec(`insert or ignore into ledger values ('format', ${FORMAT});`);
  const format = database.prepare("select value from ledger where key = 'format'").get()?.value;
  if (format !== FORMAT) {
    throw new Error(`The ledger in ${directory} has format ${format}, this version reads ${FORMAT}: it must be reset.`);
  }
  database.exec(TABLES);
}

function prepareReads(database: DatabaseSync) {
  const statement = (sql: string) => {
    const prepared = database.prepare(sql);
    prepared.setReadBigInts(true); // lamports exceed what a double holds
    return prepared;
  };
  const summary = 'signature, slot, block_time, err';
  return {
    value: statement('select value from ledger where key = ?'),
    accounts: statement('select * from accounts'),
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
    account: database.prepare('insert or replace into accounts values (?, ?, ?, ?, ?)'),
    transaction: database.prepare('insert into transactions values (?, ?, ?, ?, ?, ?, ?, ?)'),
    forget: database.prepare('delete from transactions where number < ?'),
  };
}

type Writes = ReturnType<typeof prepareWrites>;

/** A removed account keeps its row without an owner: at the next start it must be removed from genesis too. */
function writeAccount(write: Writes, account: MaybeEncodedAccount): void {
  if (!account.exists) write.account.run(account.address, 0n, null, 0, null);
  else {
    const { address, lamports: balance, programAddress, executable, data } = account;
    write.account.run(address, balance, programAddress, executable ? 1 : 0, new Uint8Array(data));
  }
}

function writeTransaction(write: Writes, { number, record, addresses }: NumberedTransaction): void {
  const { signature, slot, blockTime, err, wire, meta } = record;
  const errText = err === null ? null : stringifyJson(err);
  write.transaction.run(number, signature, slot, blockTime, errText, addresses.join(' '), wire, stringifyJson(meta));
}

function toAccount(row: Row): MaybeEncodedAccount {
  const address = row.address as Address; // written from an Address
  if (row.owner === null) return { exists: false, address };
  const data = row.data as Uint8Array; // a blob column, not null when there is an owner
  return {
    exists: true,
    address,
    lamports: lamports(toInteger(row.lamports)),
    programAddress: row.owner as Address, // written from an Address
    executable: row.executable === 1n,
    data,
    space: BigInt(data.length),
  };
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
