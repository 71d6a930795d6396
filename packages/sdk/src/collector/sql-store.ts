import {
  type CollectorStore,
  changedMeanwhile,
  type ItemChange,
  type ItemQuery,
  NEW_PROGRESS,
  type NewItem,
  replaced,
  type StoreChanges,
  type StoredBatch,
  type StoredItem,
  type StoredRecipient,
} from './store.ts';

export type SqlRow = Readonly<Record<string, unknown>>;
export type SqlQuery = (text: string, values?: readonly (string | number)[]) => Promise<readonly SqlRow[]>;

/** What SQLite and PostgreSQL do in different ways. */
export interface SqlDatabase {
  /** Runs one statement, with parameters `$1`, `$2`, … */
  readonly query: SqlQuery;
  /** Runs statements as one transaction, which is durable when it resolves and rolled back when `work` throws. */
  transaction<T>(work: (query: SqlQuery) => Promise<T>): Promise<T>;
  /** Type of a column that counts the items in the order of their insertion. */
  readonly sequenceType: string;
  /** The database's clock as an expression: milliseconds since 1970. */
  readonly nowMs: string;
  /** Turns the parameter `$1`, a JSON array, into rows `j` with a column `value`. */
  readonly jsonRows: string;
  /** Waits until no other process creates tables. */
  readonly lockTables?: string;
  /** Finds the table named `$1`: one row if it exists. */
  readonly findTable: string;
  close(): Promise<void>;
}

export interface SqlStoreOptions {
  /** Prefix of the tables, `flywheel_collector` by default: lowercase letters, digits and `_`. */
  readonly tablePrefix?: string;
}

/** Creates the tables where they are missing, and a store on them. */
export async function createSqlStore(
  database: SqlDatabase,
  { tablePrefix = 'flywheel_collector' }: SqlStoreOptions = {},
): Promise<CollectorStore> {
  if (!/^[a-z_][a-z0-9_]{0,40}$/.test(tablePrefix)) {
    throw new RangeError(`tablePrefix “${tablePrefix}” is not 1 to 41 lowercase letters, digits and “_”.`);
  }
  const { query, transaction, jsonRows, nowMs } = database;
  const names = { items: `${tablePrefix}_items`, batches: `${tablePrefix}_batches`, counts: `${tablePrefix}_counts` };
  const { items, batches, counts } = names;
  const recipients = `${tablePrefix}_recipients`;
  const project = `${tablePrefix}_project`;
  await createTables(database, { ...names, recipients, project });

  async function read(run: SqlQuery, asked: ItemQuery): Promise<StoredItem[]> {
    const { where, values } = conditionOf(asked, jsonRows);
    return (await run(`select * from ${items} where ${where}`, values)).map(toItem);
  }

  async function writeItems(run: SqlQuery, changes: readonly ItemChange[]): Promise<void> {
    const rows = changes.map(({ item, to }) => ({
      ...{ id: item.id, fromState: item.state, fromBatch: item.batchKey },
      ...toColumns({ ...item, ...to }),
    }));
    const written = await run(
      `update ${items} as i set
        state = j.value ->> 'state', lane = j.value ->> 'lane', attempts = cast(j.value ->> 'attempts' as integer),
        batch_key = j.value ->> 'batch_key', position = cast(j.value ->> 'position' as integer),
        batch_id = j.value ->> 'batch_id', reason = j.value ->> 'reason',
        is_report_due = cast(j.value ->> 'is_report_due' as integer)
      from ${jsonRows}
      where i.id = j.value ->> 'id' and i.state = j.value ->> 'fromState'
        and i.batch_key is not distinct from j.value ->> 'fromBatch'
      returning id`,
      [JSON.stringify(rows)],
    );
    const ids = new Set(written.map(({ id }) => id));
    const missing = changes.flatMap(({ item }) => (ids.has(item.id) ? [] : [item.id]));
    if (missing.length > 0) throw changedMeanwhile(missing);
    const moved = new Map<string, number>();
    const add = (state: string, change: number) => moved.set(state, (moved.get(state) ?? 0) + change);
    for (const { item, to } of changes) {
      add(item.state, -1);
      add(to.state ?? item.state, 1);
    }
    for (const [state, change] of moved) if (change !== 0) await addCount(run, state, change);
  }

  async function addCount(run: SqlQuery, name: string, change: number): Promise<void> {
    await run(`update ${counts} set n = n + $2 where name = $1`, [name, change]);
  }

  /** The row stays locked until the end, so that a claim waits for this step. */
  async function requireEpoch(run: SqlQuery, epoch: number): Promise<void> {
    const [current] = await run(`update ${counts} set n = n where name = 'epoch' and n = $1 returning n`, [epoch]);
    if (current === undefined) throw replaced();
  }

  /** A lease of no time has ended, also within the millisecond in which it is given. */
  function lease(run: SqlQuery, leaseMs: number, condition = ''): Promise<readonly SqlRow[]> {
    const until = leaseMs === 0 ? '$1' : `${nowMs} + $1`;
    return run(`update ${counts} set n = ${until} where name = 'leased_until_ms'${condition} returning n`, [leaseMs]);
  }

  return {
    // Two statements are enough: the row is never changed.
    bindProject: async (vaultAddress) => {
      const first = `insert into ${project} (id, vault_address) values (1, $1) on conflict (id) do nothing`;
      await query(first, [vaultAddress]);
      const [row] = await query(`select vault_address from ${project}`);
      return String(row?.vault_address);
    },

    claim: (leaseMs) =>
      transaction(async (run) => {
        // The epoch is locked first, as in every other step.
        const [row] = await run(`update ${counts} set n = n + 1 where name = 'epoch' returning n`);
        const isFree = leaseMs === undefined ? '' : ` and n <= ${nowMs}`;
        const leased = await lease(run, leaseMs ?? 0, isFree);
        if (leased.length > 0) return Number(row?.n);
        await addCount(run, 'epoch', -1);
        return null;
      }),

    renew: (epoch, leaseMs) =>
      transaction(async (run) => {
        await requireEpoch(run, epoch);
        await lease(run, leaseMs);
      }),

    add: (added: readonly NewItem[]) =>
      transaction(async (run) => {
        // Two processes that add the same items in different orders would otherwise wait for each other.
        await addCount(run, 'accepted', 0);
        const { state, lane, attempts } = NEW_PROGRESS;
        const rows = added.map(({ id, content, acceptedAtMs }, n) => ({ id, content, acceptedAtMs, n }));
        const inserted = await run(
          `insert into ${items} (id, content, accepted_at_ms, state, lane, attempts, is_report_due)
          select j.value ->> 'id', j.value ->> 'content', cast(j.value ->> 'acceptedAtMs' as bigint),
            '${state}', '${lane}', ${attempts}, 0
          from ${jsonRows} where true order by cast(j.value ->> 'n' as integer)
          on conflict (id) do nothing returning id`,
          [JSON.stringify(rows)],
        );
        await addCount(run, 'accepted', inserted.length);
        await addCount(run, state, inserted.length);
        const stored = new Map((await read(run, { ids: added.map(({ id }) => id) })).map((item) => [item.id, item]));
        return added.flatMap(({ id }) => stored.get(id) ?? []);
      }),

    read: (asked) => read(query, asked),

    readBatches: async () => (await query(`select data from ${batches} order by key`)).map(toBatch),

    readRecipients: async (addresses) => {
      const named = `address in (select j.value ->> 'id' from ${jsonRows})`;
      const rows = await query(`select address, failures from ${recipients} where ${named}`, [asIds(addresses)]);
      return rows.map((row): StoredRecipient => ({ address: String(row.address), failures: Number(row.failures) }));
    },

    count: async () => {
      const rows = await query(`select name, n from ${counts}`);
      const found = new Map(rows.map(({ name, n }) => [name, Number(n)]));
      const of = (name: string) => found.get(name) ?? 0;
      return {
        ...{ accepted: of('accepted'), pending: of('pending'), paid: of('paid') },
        ...{ quarantined: of('quarantined'), dropped: of('dropped') },
      };
    },

    write: (epoch: number, changes: StoreChanges) =>
      transaction(async (run) => {
        await requireEpoch(run, epoch);
        if (changes.items?.length) await writeItems(run, changes.items);
        for (const batch of changes.batches ?? []) {
          const upsert = 'on conflict (key) do update set data = excluded.data';
          await run(`insert into ${batches} (key, data) values ($1, $2) ${upsert}`, [batch.key, JSON.stringify(batch)]);
        }
        for (const key of changes.endedBatches ?? []) await run(`delete from ${batches} where key = $1`, [key]);
        for (const { address, failures } of changes.recipients ?? []) {
          await run(`delete from ${recipients} where address = $1`, [address]);
          if (failures === 0) continue;
          await run(`insert into ${recipients} (address, failures) values ($1, $2)`, [address, failures]);
        }
      }),

    close: () => database.close(),
  };
}

interface Names {
  readonly items: string;
  readonly batches: string;
  readonly counts: string;
  readonly recipients: string;
  readonly project: string;
}

async function createTables(
  { transaction, sequenceType, lockTables, findTable }: SqlDatabase,
  { items, batches, counts, recipients, project }: Names,
): Promise<void> {
  await transaction(async (run) => {
    if (lockTables !== undefined) await run(lockTables);
    // "if not exists" locks the tables also then: this process and a collector that writes could wait for each other.
    const isMissing = async (table: string) => (await run(findTable, [table])).length === 0;
    // Stores of 0.2 lack this table alone.
    if (await isMissing(project)) {
      await run(`create table ${project} (id integer primary key check (id = 1), vault_address text not null)`);
    }
    if (!(await isMissing(items))) return;
    await run(`create table ${items} (
      sequence ${sequenceType}, id text not null unique, content text not null, accepted_at_ms bigint not null,
      state text not null check (state in ('pending', 'paid', 'quarantined', 'dropped')),
      lane text not null check (lane in ('together', 'apart')), attempts integer not null,
      batch_key text, position integer, batch_id text, reason text, is_report_due integer not null
    )`);
    // Each covers the few rows that a step asks for, however many items are paid.
    const waiting = `where state = 'pending' and batch_key is null`;
    await run(`create index ${items}_waiting on ${items} (lane, sequence) ${waiting}`);
    await run(`create index ${items}_batch on ${items} (batch_key) where batch_key is not null`);
    await run(`create index ${items}_paid on ${items} (batch_id, position) where state = 'paid'`);
    await run(`create index ${items}_due on ${items} (sequence) where is_report_due = 1`);
    await run(`create index ${items}_state on ${items} (state, sequence)`);
    await run(`create table ${batches} (key text primary key, data text not null)`);
    await run(`create table ${recipients} (address text primary key, failures integer not null)`);
    await run(`create table ${counts} (name text primary key, n bigint not null)`);
    for (const name of ['epoch', 'leased_until_ms', 'accepted', 'pending', 'paid', 'quarantined', 'dropped']) {
      await run(`insert into ${counts} (name, n) values ($1, 0)`, [name]);
    }
  });
}

function conditionOf(
  asked: ItemQuery,
  jsonRows: string,
): { readonly where: string; readonly values: readonly (string | number)[] } {
  if ('ids' in asked) {
    const where = `id in (select j.value ->> 'id' from ${jsonRows}) order by sequence`;
    return { where, values: [asIds(asked.ids)] };
  }
  if ('batchKey' in asked) return { where: 'batch_key = $1 order by position, sequence', values: [asked.batchKey] };
  if ('paidBy' in asked) {
    const places = `select j.value ->> 'batchId', cast(j.value ->> 'position' as integer) from ${jsonRows}`;
    const where = `state = 'paid' and (batch_id, position) in (${places}) order by sequence`;
    return { where, values: [JSON.stringify(asked.paidBy)] };
  }
  if ('waitingIn' in asked) {
    const where = `state = 'pending' and batch_key is null and lane = $1 order by sequence limit $2`;
    return { where, values: [asked.waitingIn, asked.limit] };
  }
  if ('reportDue' in asked) {
    return { where: 'is_report_due = 1 order by sequence limit $1', values: [asked.limit] };
  }
  const where = 'state = $1 and sequence > $2 order by sequence limit $3';
  return { where, values: [asked.state, asked.after, asked.limit] };
}

function asIds(texts: readonly string[]): string {
  return JSON.stringify(texts.map((id) => ({ id })));
}

function toColumns({ state, lane, attempts, batchKey, position, batchId, reason, isReportDue }: StoredItem) {
  return {
    ...{ state, lane, attempts, position, batch_key: batchKey, batch_id: batchId },
    reason: reason === null ? null : JSON.stringify(reason),
    is_report_due: isReportDue ? 1 : 0,
  };
}

/** The tables hold only what this store has written. */
function toItem(row: SqlRow): StoredItem {
  const text = (name: string) => (row[name] === null ? null : String(row[name]));
  return {
    ...{ id: String(row.id), content: String(row.content), acceptedAtMs: Number(row.accepted_at_ms) },
    ...{ sequence: Number(row.sequence), attempts: Number(row.attempts) },
    state: row.state as StoredItem['state'],
    lane: row.lane as StoredItem['lane'],
    ...{ batchKey: text('batch_key'), batchId: text('batch_id') },
    position: row.position === null ? null : Number(row.position),
    reason: row.reason === null ? null : JSON.parse(String(row.reason)),
    isReportDue: Number(row.is_report_due) === 1,
  };
}

function toBatch({ data }: SqlRow): StoredBatch {
  // Rows of 0.2 lack the proposal.
  return { signed: null, ...JSON.parse(String(data)) };
}
