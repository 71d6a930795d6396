import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Address, lamports, type MaybeEncodedAccount, type Signature } from '@solana/kit';
import { parseJson, stringifyJson } from '../json.ts';
import type { TransactionError } from '../runtime.ts';
import type { TransactionMeta } from './transaction-meta.ts';

const FILE = 'ledger.sqlite';
/** Raised when the tables change: a ledger of another format is refused rather than misread. */
const FORMAT = 1;
/** Transactions kept in the history; older ones are forgotten once their blockhash is, so memory and file stay bounded. */
const HISTORY_TRANSACTIONS = 50_000;
/** Forgetting scans an index, so it is done for many transactions at a time. */
const PRUNE_STEP = 5_000;

const TABLES = `
  create table if not exists ledger (key text primary key, value any) strict, without rowid;
  create table if not exists accounts (
    address text primary key, lamports integer, owner text, executable integer, data blob
  ) strict, without rowid;
  create table if not exists transactions (
    id integer primary key, signature text unique, slot integer, block_time integer, err text, wire blob, meta text
  ) strict;
  create index if not exists transactions_by_slot on transactions (slot);
  create table if not exists transaction_accounts (
    address text, id integer, primary key (address, id)
  ) strict, without rowid;
`;

/** A transaction that the ledger took in, whether it succeeded or failed. */
export interface TransactionRecord {
  readonly signature: Signature;
  readonly slot: bigint;
  readonly blockTime: bigint;
  readonly err: TransactionError | null;
  readonly wire: Uint8Array;
  readonly meta: TransactionMeta;
}

export type TransactionSummary = Pick<TransactionRecord, 'signature' | 'slot' | 'blockTime' | 'err'>;

/** The part of the ledger that outlives the process, and the history of transactions. */
export interface Store {
  readonly isNew: boolean;
  value(key: string): bigint | Uint8Array | null;
  accounts(): Iterable<MaybeEncodedAccount>;
  /** Writes all or nothing; survives the process being killed the moment it returns. */
  commit(changes: {
    readonly values: Readonly<Record<string, bigint | Uint8Array>>;
    readonly accounts?: Iterable<MaybeEncodedAccount>;
    readonly transactions?: Iterable<{ readonly record: TransactionRecord; readonly addresses: readonly Address[] }>;
  }): void;
  summary(signature: string): TransactionSummary | null;
  transaction(signature: string): TransactionRecord | null;
  /** Newest first. `before` and `until` are signatures, both exclusive. */
  transactionsOf(
    address: Address,
    page: {
      readonly limit: number;
      readonly before: string | null;
      readonly until: string | null;
      readonly newestSlot: bigint;
    },
  ): TransactionSummary[];
  /** In the order they were executed. */
  transactionsIn(slot: bigint): TransactionRecord[];
  /** The first slot whose transactions are all still remembered. */
  firstAvailableSlot(): bigint;
  transactionCount(): bigint;
  blockTime(slot: bigint): bigint | null;
  /** Forgets transactions beyond the bound that are older than the slot. */
  prune(olderThanSlot: bigint): void;
  close(): void;
}

/**
 * Opens the store in a directory, or in memory when there is none: the same tables, and no account is written.
 * Throws when another process has the directory open, or when it holds a ledger of another format.
 */
export function openStore(directory: string | null): Store {
  if (directory) mkdirSync(directory, { recursive: true });
  const database = new DatabaseSync(directory ? join(directory, FILE) : ':memory:');
  try {
    // Exclusive: two processes on one ledger would each overwrite what the other did. A commit in WAL mode without a
    // sync survives SIGKILL; a power cut may cost the last commits, never the file's consistency.
    database.exec('pragma locking_mode = exclusive; pragma journal_mode = wal; pragma synchronous = normal;');
    database.exec(TABLES);
  } catch (cause) {
    database.close();
    throw new Error(`The ledger in ${directory} cannot be opened; is another process using it?`, { cause });
  }
  const value = (key: string) => toValue(select.value.get(key)?.value);
  const select = prepareReads(database);
  const write = prepareWrites(database);
  const format = value('format');
  if (format !== null && format !== BigInt(FORMAT)) {
    database.close();
    throw new Error(`The ledger in ${directory} has format ${format}; this version reads ${FORMAT}.`);
  }
  let stored = Number(select.count.get()?.count ?? 0);
  return {
    isNew: format === null,
    value,
    accounts: () => select.accounts.all().map(toAccount),
    commit: ({ values, accounts = [], transactions = [] }) => {
      database.exec('begin');
      try {
        if (format === null) write.value.run('format', BigInt(FORMAT));
        for (const [key, content] of Object.entries(values)) write.value.run(key, content);
        for (const account of directory ? accounts : []) writeAccount(write, account);
        for (const { record, addresses } of transactions) {
          const { signature, slot, blockTime, err, wire, meta } = record;
          const errText = err === null ? null : stringifyJson(err);
          const { lastInsertRowid } = write.transaction.run(
            signature,
            slot,
            blockTime,
            errText,
            wire,
            stringifyJson(meta),
          );
          for (const address of addresses) write.transactionAccount.run(address, lastInsertRowid);
          stored += 1;
        }
        database.exec('commit');
      } catch (error) {
        database.exec('rollback');
        throw error;
      }
    },
    summary: (signature) => toSummary(select.summary.get(signature)),
    transaction: (signature) => toRecord(select.transaction.get(signature)),
    transactionsIn: (slot) =>
      select.inSlot
        .all(slot)
        .map(toRecord)
        .filter((record) => record !== null),
    firstAvailableSlot: () => {
      const row = select.oldest.get();
      // Forgetting may have cut through the slot of the oldest that is left.
      return row && toInteger(row.id) > 1n ? toInteger(row.slot) + 1n : 0n;
    },
    transactionsOf: (address, { limit, before, until, newestSlot }) => {
      const below = before === null ? null : (select.id.get(before)?.id ?? 0n);
      const above = until === null ? 0n : (select.id.get(until)?.id ?? 0n);
      const rows = select.ofAddress.all(address, above, below, below, newestSlot, limit);
      return rows.map(toSummary).filter((summary) => summary !== null);
    },
    transactionCount: () => toInteger(select.newest.get()?.id ?? 0n),
    blockTime: (slot) => {
      const row = select.blockTime.get(slot);
      return row ? toInteger(row.block_time) : null;
    },
    prune: (olderThanSlot) => {
      if (stored < HISTORY_TRANSACTIONS + PRUNE_STEP) return;
      const row = select.nthNewest.get(HISTORY_TRANSACTIONS, olderThanSlot);
      if (!row) return;
      const through = toInteger(row.id);
      database.exec('begin');
      write.forgetAccounts.run(through);
      stored -= Number(write.forget.run(through).changes);
      database.exec('commit');
    },
    close: () => database.close(),
  };
}

/** Removes the ledger in a directory, and nothing else that lies there. */
export function forgetLedger(directory: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(directory, `${FILE}${suffix}`), { force: true });
}

type Row = Record<string, unknown>;

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
    count: statement('select count(*) as count from transactions'),
    newest: statement('select max(id) as id from transactions'),
    id: statement('select id from transactions where signature = ?'),
    summary: statement(`select ${summary} from transactions where signature = ?`),
    transaction: statement(`select ${summary}, wire, meta from transactions where signature = ?`),
    inSlot: statement(`select ${summary}, wire, meta from transactions where slot = ? order by id`),
    oldest: statement('select id, slot from transactions order by id limit 1'),
    ofAddress: statement(
      `select ${summary} from transaction_accounts join transactions using (id)
       where address = ? and id > ? and (? is null or id < ?) and slot <= ? order by id desc limit ?`,
    ),
    blockTime: statement('select block_time from transactions where slot = ? limit 1'),
    nthNewest: statement(
      'select max(id) as id from transactions where id <= (select max(id) from transactions) - ? and slot < ? having id is not null',
    ),
  };
}

function prepareWrites(database: DatabaseSync) {
  return {
    value: database.prepare('insert or replace into ledger values (?, ?)'),
    account: database.prepare('insert or replace into accounts values (?, ?, ?, ?, ?)'),
    transaction: database.prepare(
      'insert into transactions (signature, slot, block_time, err, wire, meta) values (?, ?, ?, ?, ?, ?)',
    ),
    transactionAccount: database.prepare('insert into transaction_accounts values (?, ?)'),
    forget: database.prepare('delete from transactions where id <= ?'),
    forgetAccounts: database.prepare('delete from transaction_accounts where id <= ?'),
  };
}

/** A removed account keeps its row without an owner: at the next start it must be removed from genesis too. */
function writeAccount(write: ReturnType<typeof prepareWrites>, account: MaybeEncodedAccount): void {
  if (!account.exists) write.account.run(account.address, 0n, null, 0, null);
  else {
    const { address, lamports: balance, programAddress, executable, data } = account;
    write.account.run(address, balance, programAddress, executable ? 1 : 0, new Uint8Array(data));
  }
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

function toSummary(row: Row | undefined): TransactionSummary | null {
  if (!row) return null;
  return {
    signature: row.signature as Signature, // written from a Signature
    slot: toInteger(row.slot),
    blockTime: toInteger(row.block_time),
    err: row.err === null ? null : (parseJson(String(row.err)) as TransactionError), // written from one
  };
}

function toRecord(row: Row | undefined): TransactionRecord | null {
  const summary = toSummary(row);
  if (!row || !summary) return null;
  // The row was written by commit: wire is a blob, meta the text of a TransactionMeta.
  return { ...summary, wire: row.wire as Uint8Array, meta: parseJson(String(row.meta)) as TransactionMeta };
}

function toValue(content: unknown): bigint | Uint8Array | null {
  return typeof content === 'bigint' || content instanceof Uint8Array ? content : null;
}

function toInteger(content: unknown): bigint {
  return typeof content === 'bigint' ? content : 0n;
}
