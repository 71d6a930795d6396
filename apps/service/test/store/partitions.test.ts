import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { openTestDatabase, quietLog, TEST_ROLES } from '@flywheel/testing/postgres';
import { NOW, storeBatch, storeNonces, storeProject } from '@flywheel/testing/records';
import { deliveriesOf, queueEvent, storeEndpoint } from '@flywheel/testing/webhook-deliveries';
import { sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import type { Project } from '../../src/model/project.ts';
import { keepPartitions } from '../../src/retention.ts';
import { findEvents, recordEvent } from '../../src/store/batches/events.ts';
import { closeDb, type Db, openDb } from '../../src/store/db.ts';
import { MIGRATIONS, migrate } from '../../src/store/migrate.ts';
import { addPartitions, dropPartition, readPartitionsAhead, TableBusy } from '../../src/store/partitions.ts';
import { takeOnRole } from '../../src/store/roles.ts';
import { findDeliveries } from '../../src/store/webhooks/deliveries.ts';
import { claimDueDeliveries, settleDelivery } from '../../src/store/webhooks/due-deliveries.ts';
import { deleteEndpoint } from '../../src/store/webhooks/endpoints.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

const TABLES = ['batch_events', 'webhook_deliveries'] as const;
const RETENTION = { eventDays: 60, deliveryDays: 30 };
const databases = await Promise.all([openTestDatabase(), openTestDatabase(), openTestDatabase()]);
const [{ db: admin, poolConfig }, { db: ahead }, { db: aged, poolConfig: agedConfig }] = databases;
const DELIVERED = { kind: 'delivered', status: 200, response: 'ok' } as const;

describe('migration 0032', () => {
  let db: Db;
  let project: Project;
  let endpointId: string;
  before(async () => {
    const database = `before_${randomUUID().replaceAll('-', '')}`;
    await sql`create database ${sql.id(database)}`.execute(admin);
    db = openDb({ ...poolConfig, database }, quietLog);
    const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } });
    assert.ifError((await migrator.migrateTo('0031-counted-token-accounts')).error);
    await sql`grant select, insert (batch_id, type, at, status, data) on batch_events to flywheel_serve`.execute(db);
    await storeNonces(db, 2);
    project = await storeProject(db);
    endpointId = await storeEndpoint(db, project, 'http://one.example');
  });
  after(() => closeDb(db));

  it('keeps every event and delivery, and numbers later ones after them', async () => {
    const batch = await storeBatch(db, project);
    await recordEvent(db, batch.id, { type: 'batch.finalized', at: NOW });
    await queueEvent(db, project);
    const [events, deliveries] = [await findEvents(db, batch.id, 0n), await deliveriesOf(db, endpointId)];
    assert.deepEqual([events.events.length, deliveries.length], [2, 2]);

    const applied = await migrate(db);
    assert.ok(applied.includes('0032-partitions'));
    assert.deepEqual(await findEvents(db, batch.id, 0n), events);
    assert.deepEqual(await deliveriesOf(db, endpointId), deliveries);
    await recordEvent(db, batch.id, { type: 'batch.executed', at: NOW });
    const newest = (await findEvents(db, batch.id, 0n)).events.at(-1);
    assert.equal(newest?.id, String(BigInt(events.events.at(-1)?.id ?? 0) + 1n));
    assert.equal((await deliveriesOf(db, endpointId))[0]?.id, (deliveries[0]?.id ?? 0n) + 1n);
  });

  it('leaves processes that run meanwhile the rights that they had', async () => {
    const { rows } = await sql<{ held: boolean[] }>`
      select array[has_table_privilege('flywheel_serve', 'batch_events', 'SELECT'),
        has_column_privilege('flywheel_serve', 'batch_events', 'data', 'INSERT'),
        has_column_privilege('flywheel_serve', 'batch_events', 'id', 'INSERT'),
        has_table_privilege('flywheel_serve', 'batch_events_first', 'SELECT')] as held
    `.execute(db);
    assert.deepEqual(rows[0]?.held, [true, true, false, false]);
  });

  it('lets deliveries that waited be sent, and be deleted with their endpoint', async () => {
    const due = await claimDueDeliveries(db, { now: new Date(), leasedUntil: inAMinute(), limit: 10 });
    assert.equal(due.length, 2);
    for (const each of due) assert.equal(await settleDelivery(db, each, DELIVERED, new Date()), true);
    assert.equal((await deliveriesOf(db, endpointId)).filter(({ state }) => state === 'delivered').length, 2);
    await deleteEndpoint(db, endpointId);
    assert.deepEqual(await deliveriesOf(db, endpointId), []);
  });
});

describe('partitions by month', () => {
  /** Far from the present, whose months the migration has added. */
  const [LAST_OF_JANUARY, FIRST_OF_FEBRUARY] = ['2031-01-31T23:59:59.999Z', '2031-02-01T00:00:00.000Z'].map(
    (time) => new Date(time),
  );
  const db = ahead;
  let project: Project;
  before(async () => {
    await storeNonces(db, 5);
    project = await storeProject(db);
  });

  it('are added three months ahead, each once', async () => {
    const months = (names: readonly string[]) => TABLES.flatMap((table) => names.map((name) => `${table}_${name}`));
    const january = await addPartitions(db, LAST_OF_JANUARY);
    assert.deepEqual(january, months(['2031_01', '2031_02', '2031_03', '2031_04']));
    assert.deepEqual(await addPartitions(db, LAST_OF_JANUARY), []);
    assert.deepEqual(await addPartitions(db, FIRST_OF_FEBRUARY), months(['2031_05']));
    assert.ok((await readPartitionsAhead(db)) > 0);
  });

  it('hold the events of one batch on both sides of a boundary, read as one list', async () => {
    const batch = await storeBatch(db, project);
    await recordEvent(db, batch.id, { type: 'batch.finalized', at: NOW });
    await recordEvent(db, batch.id, { type: 'batch.executed', at: NOW });
    const { events } = await findEvents(db, batch.id, 0n);
    const [first, second, third] = events.map(({ id }) => id);
    await sql`update batch_events set recorded_at = ${LAST_OF_JANUARY} where id in (${first}, ${second})`.execute(db);
    await sql`update batch_events set recorded_at = ${FIRST_OF_FEBRUARY} where id = ${third}`.execute(db);
    const { rows } = await sql<{ name: string }>`
      select tableoid::regclass::text as name from batch_events where batch_id = ${batch.id} order by id
    `.execute(db);
    const names = rows.map(({ name }) => name);
    assert.deepEqual(names, ['batch_events_2031_01', 'batch_events_2031_01', 'batch_events_2031_02']);
    assert.deepEqual((await findEvents(db, batch.id, 0n)).events, events);
    assert.deepEqual((await findEvents(db, batch.id, BigInt(second ?? 0))).events, events.slice(2));
  });

  it('hold the deliveries of one endpoint on both sides of a boundary: sent, settled and listed as one', async () => {
    const endpointId = await storeEndpoint(db, project, 'http://one.example');
    for (let i = 0; i < 2; i += 1) await queueEvent(db, project);
    const [newest, oldest] = await deliveriesOf(db, endpointId);
    assert.ok(newest && oldest);
    for (const [{ id }, at] of [[oldest, LAST_OF_JANUARY] as const, [newest, FIRST_OF_FEBRUARY] as const]) {
      await db.updateTable('webhook_deliveries').set({ recorded_at: at }).where('id', '=', id).execute();
    }
    const due = await claimDueDeliveries(db, { now: new Date(), leasedUntil: inAMinute(), limit: 10 });
    assert.deepEqual(due.map(({ id }) => id).toSorted(), [oldest.id, newest.id]);
    for (const each of due) assert.equal(await settleDelivery(db, each, DELIVERED, new Date()), true);
    const page = { state: 'delivered', below: newest.id, limit: 10 } as const;
    assert.deepEqual(
      (await findDeliveries(db, endpointId, page)).map(({ id }) => id),
      [oldest.id],
    );
    await deleteEndpoint(db, endpointId);
  });

  it('refuse a row of a month that has none: no other partition takes it unseen', async () => {
    const batch = await storeBatch(db, project);
    const move = sql`update batch_events set recorded_at = '2032-01-01' where batch_id = ${batch.id}`.execute(db);
    await assert.rejects(move, /no partition of relation "batch_events" found for row/);
  });
});

describe('old partitions', () => {
  const db = aged;
  const work = openDb({ ...takeOnRole(agedConfig, TEST_ROLES.DATABASE_WORK_ROLE), max: 2 }, quietLog);
  const metrics = createMetrics();
  let project: Project;
  const at = (day: string) => new Date(`${day}T00:00:00Z`);
  const keep = (present: Date, worker = work) =>
    keepPartitions({ db: worker, log: quietLog, metrics, retention: RETENTION, present });
  const namesOf = async (table: string) => {
    const { rows } = await sql<{ name: string }>`
      select partition_name as name from partitions_of(${table}) where starts_at < '2026-01-01' order by name
    `.execute(db);
    return rows.map(({ name }) => name.slice(table.length + 1));
  };

  before(async () => {
    await storeNonces(db, 5);
    project = await storeProject(db);
    // The first partitions cover all of the past.
    await sql`drop table batch_events_first, webhook_deliveries_first`.execute(db);
    await addPartitions(db);
    await addPartitions(db, at('2025-01-15'));
  });
  after(() => closeDb(work));

  it('are dropped once all their rows are older than the setting says, by a worker that owns no table', async () => {
    const batch = await storeBatch(db, project);
    await recordEvent(db, batch.id, { type: 'batch.finalized', at: NOW });
    await sql`
      update batch_events set recorded_at = '2025-01-31T23:59:59Z' where batch_id = ${batch.id} and type = 'batch.initialized'
    `.execute(db);
    await keep(new Date('2025-03-02T23:59:59Z'));
    assert.deepEqual(await namesOf('webhook_deliveries'), [
      '2025_01',
      '2025_02',
      '2025_03',
      '2025_04',
      '2025_05',
      '2025_06',
    ]);
    await keep(at('2025-03-03'));
    assert.equal((await namesOf('webhook_deliveries'))[0], '2025_02');
    assert.equal((await namesOf('batch_events'))[0], '2025_01');
    assert.equal((await findEvents(db, batch.id, 0n)).events.length, 2);
    await keep(at('2025-04-02'));
    assert.equal((await namesOf('batch_events'))[0], '2025_02');
    const left = (await findEvents(db, batch.id, 0n)).events.map(({ type }) => type);
    assert.deepEqual(left, ['batch.finalized']);
  });

  it('give up deliveries that wait, and are kept while one is being sent', async () => {
    const endpointId = await storeEndpoint(db, project, 'http://one.example');
    for (let i = 0; i < 3; i += 1) await queueEvent(db, project);
    await sql`update webhook_deliveries set recorded_at = '2025-03-15' where endpoint_id = ${endpointId}`.execute(db);
    const [newest, middle, oldest] = await deliveriesOf(db, endpointId);
    assert.ok(newest && middle && oldest);
    await db.updateTable('webhook_deliveries').set({ state: 'failed' }).where('id', '=', newest.id).execute();
    const [sent] = await claimDueDeliveries(db, { now: new Date(), leasedUntil: inAMinute(), limit: 1 });
    assert.equal(sent?.id, oldest.id);

    await keep(at('2025-05-02'));
    assert.equal((await namesOf('webhook_deliveries'))[0], '2025_03');
    assert.equal(await settleDelivery(db, sent, DELIVERED, new Date()), true);
    await keep(at('2025-05-02'));
    assert.equal((await namesOf('webhook_deliveries'))[0], '2025_04');
    assert.deepEqual(await deliveriesOf(db, endpointId), [middle]);
  });

  it('are added and dropped once by two workers at the same time', async () => {
    const logged: object[] = [];
    const log = { info: (fields: object) => void logged.push(fields), warn: () => undefined };
    const present = at('2025-07-15');
    const runs = [1, 2].map(() => keepPartitions({ db: work, log, metrics, retention: RETENTION, present }));
    await Promise.all(runs);
    const dropped = logged.flatMap((fields) => ('partition' in fields ? [fields.partition] : []));
    assert.deepEqual(dropped.toSorted(), [
      'batch_events_2025_03',
      'batch_events_2025_04',
      'webhook_deliveries_2025_04',
      'webhook_deliveries_2025_05',
    ]);
    const added = logged.flatMap((fields) => ('partitions' in fields ? [fields.partitions] : []));
    assert.equal(added.length, 1);
  });

  it('stay while a backup reads the table, which delays a writer by a moment only', async () => {
    await addPartitions(db, at('2025-08-15'));
    const [reading, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const backup = db.transaction().execute(async (trx) => {
      await sql`select from batch_events limit 1`.execute(trx);
      reading.resolve();
      await done.promise;
    });
    await reading.promise;
    const dropping = dropPartition(work, 'batch_events', 30, at('2025-08-15'));
    const stored = storeBatch(db, project);
    await assert.rejects(dropping, TableBusy);
    await stored;
    await keep(at('2025-08-15'));
    done.resolve();
    await backup;
    await keep(at('2025-08-15'));
    const { values } = await metrics.partitionsNotDropped.get();
    assert.deepEqual(
      values.map(({ labels, value }) => [labels.table, value]),
      [
        ['batch_events', 1],
        ['webhook_deliveries', 0],
      ],
    );
    assert.equal((await namesOf('batch_events'))[0], '2025_06');
  });

  it('are not dropped within 30 days of the database’s clock, whatever a worker asks', async () => {
    for (const table of TABLES) {
      while ((await dropPartition(work, table, 0, at('2099-01-01'))) !== null);
      const { rows } = await sql<{ kept: boolean }>`
        select bool_or(starts_at <= now() and ends_at > now()) as kept from partitions_of(${table})
      `.execute(db);
      assert.equal(rows[0]?.kept, true, table);
    }
    await assert.rejects(sql`select drop_partition('batches', 30)`.execute(work), /not partitioned by month/);
  });
});

function inAMinute(): Date {
  return new Date(Date.now() + 60_000);
}
