import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { seededRandom } from '@flywheel/localnet';
import { realClock } from '@flywheel/testing/clock';
import { openTestDatabase, quietLog, TEST_ROLES } from '@flywheel/testing/postgres';
import {
  newBundle,
  newPipeline,
  randomAddress,
  SIGNATURES,
  storeBatch,
  storeNonces,
  storeProject,
  storeWorkerKeys,
} from '@flywheel/testing/records';
import { sql } from 'kysely';
import type { BatchAction, CompiledPipeline } from '../../src/model/batch.ts';
import type { Project } from '../../src/model/project.ts';
import { moveProject } from '../../src/projects/move-project.ts';
import { packBatches } from '../../src/retention.ts';
import { findUnpackedIds, packBatch } from '../../src/store/batches/archive.ts';
import { findBatch, findBatchByIdempotencyKey } from '../../src/store/batches/batches.ts';
import { findBundles, findSentBundles, insertBundle } from '../../src/store/batches/bundles.ts';
import { type CapQuestion, readCapUse } from '../../src/store/batches/cap-use.ts';
import { findPastPipelines, findPrecedents } from '../../src/store/batches/past-batches.ts';
import { findProofsByHash } from '../../src/store/batches/proofs.ts';
import { findRotations } from '../../src/store/batches/rotations.ts';
import { DamagedRecord } from '../../src/store/damaged-record.ts';
import { closeDb, type Db, openDb } from '../../src/store/db.ts';
import { takeOnRole } from '../../src/store/roles.ts';

const [{ db, poolConfig }, { db: destination }] = [await openTestDatabase(), await openTestDatabase()];
const random = seededRandom(42);
const SIZES = [1, 2, 7, 60, 1_000];
const DAYS = 90;
let project: Project;
before(async () => {
  await storeNonces(db, 40);
  project = await storeProject(db);
});

describe('a packed batch', () => {
  for (const size of SIZES) {
    it(`gives every row back as it was, with ${size} pipelines and any text`, async () => {
      const { id, key } = await storeOld(size);
      const [before, bytes] = [await readAll(id, key), await storedBytes(id)];
      assert.equal(await packBatch(db, id, DAYS), true);
      assert.deepEqual(await readAll(id, key), before);
      assert.equal(await packBatch(db, id, DAYS), false);
      if (size < 60) return;
      const packed = await storedBytes(id);
      // Addresses and bytes at random have little in common.
      assert.ok(packed < bytes * 0.8, `${packed} of ${bytes} bytes are left`);
    });
  }

  it('is read as a whole by those who read while it is packed', async () => {
    const { id, key } = await storeOld(60);
    const before = await readAll(id, key);
    const packing = new AbortController();
    const reading = Array.from({ length: 3 }, async () => {
      let reads = 0;
      for (; !packing.signal.aborted || reads < 3; reads += 1) assert.deepEqual(await readAll(id, key), before);
    });
    assert.equal(await packBatch(db, id, DAYS), true);
    packing.abort();
    await Promise.all(reading);
  });

  it('takes a bundle that is sent later, beside the packed ones', async () => {
    const { id, key } = await storeOld(2);
    await packBatch(db, id, DAYS);
    const before = await readAll(id, key);
    await db.updateTable('batches').set({ status: 'FAILED' }).where('id', '=', id).execute();
    const batch = (await findBatch(db, id)) ?? assert.fail();
    const late = await insertBundle(db, newBundle(batch, { phase: 'close' }));
    assert.deepEqual(await findBundles(db, id), [...before.bundles, late]);
  });

  it('of a rotation is listed as before', async () => {
    const [from, to] = [randomAddress(), randomAddress()];
    const rotated = await storeProject(db);
    const { id } = await storeOld(1, rotated, {
      ...anyPipeline(),
      actions: [{ action: 'ROTATE', approver: 'wallet', from, to }],
    });
    await db.updateTable('batches').set({ kind: 'rotation' }).where('id', '=', id).execute();
    const before = await findRotations(db, rotated.id, 10);
    assert.deepEqual([before.length, before[0]?.to], [1, to]);
    assert.equal(await packBatch(db, id, DAYS), true);
    assert.deepEqual(await findRotations(db, rotated.id, 10), before);
  });

  it('moves to another shard, ahead of its project or with it', async () => {
    const moved = await storeProject(db);
    const settled = await storeOld(7, moved);
    const unsettled = await storeOld(7, moved);
    await db.updateTable('batches').set({ closed_at: new Date() }).where('id', '=', settled.id).execute();
    const all = [settled, unsettled];
    for (const { id } of all) assert.equal(await packBatch(db, id, DAYS), true);
    const read = (from: Db) => Promise.all(all.map(({ id, key }) => readAll(id, key, moved, from)));
    const before = await read(db);
    await storeWorkerKeys(destination, moved);
    await moveProject({ from: db, to: destination, clock: realClock }, moved.id, async () => undefined);
    const withoutIds = (batches: typeof before) =>
      batches.map(({ bundles, sent, ...rest }) => ({
        ...rest,
        bundles: bundles.map(({ id: _, ...bundle }) => bundle),
        sent: sent.map(({ id: _, ...bundle }) => bundle),
      }));
    assert.deepEqual(withoutIds(await read(destination)), withoutIds(before));
    const required = await destination.selectFrom('schema_compatibility').select('required_migration').execute();
    assert.deepEqual(
      required,
      [{ required_migration: '0042-batch-archives' }],
      'release 0.2 does not start there any more',
    );
  });
});

describe('pack_batch', () => {
  it('refuses a batch whose end is not final for the days, and for less than 30 days in any case', async () => {
    const { id } = await storeOld(2);
    const age = (days: number | null) =>
      sql`update batches set end_finalized_at = now() - ${days}::int * interval '1 day' where id = ${id}`.execute(db);
    for (const [days, keepDays] of [
      [89, 90],
      [29, 1],
      [null, 30],
    ] as const) {
      await age(days);
      assert.equal(await packBatch(db, id, keepDays), false);
    }
    await age(31);
    assert.deepEqual(await findUnpackedIds(db, DAYS, 10), []);
    assert.deepEqual(await findUnpackedIds(db, 30, 10), [id]);
    assert.equal(await packBatch(db, id, 1), true);
  });

  it('changes nothing if the process dies before the commit', async () => {
    const { id, key } = await storeOld(7);
    const before = await readAll(id, key);
    const single = openDb({ ...poolConfig, max: 1 }, quietLog);
    const dying = single.transaction().execute(async (trx) => {
      assert.equal(await packBatch(trx, id, DAYS), true);
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx);
      await sql`select pg_terminate_backend(${rows[0]?.pid}::int)`.execute(db);
      await sql`select 1`.execute(trx);
    });
    await assert.rejects(dying);
    await closeDb(single);
    assert.deepEqual(await countPacked(id), { archives: 0, empty: 0 });
    assert.deepEqual(await readAll(id, key), before);
    assert.equal(await packBatch(db, id, DAYS), true);
    assert.deepEqual(await readAll(id, key), before);
  });

  const damages = {
    'a transaction that is not base64': (id: string) =>
      sql`update bundles set transactions[1] = '§' where batch_id = ${id}`,
    'a transaction in another form of base64': (id: string) =>
      sql`update bundles set transactions[1] = 'YWJj ZGVm' where batch_id = ${id}`,
    'fewer signatures than transactions': (id: string) =>
      sql`update bundles set signatures = signatures[2:] where batch_id = ${id}`,
    'a pipeline too few': (id: string) => sql`delete from pipelines where batch_id = ${id} and position = 0`,
    'a pipeline too many': (id: string) => sql`
      insert into pipelines select (jsonb_populate_record(pipelines, '{"position": 7}')).*
      from pipelines where batch_id = ${id} and position = 1`,
  };
  for (const [damage, run] of Object.entries(damages)) {
    it(`leaves a batch with ${damage} as it is, and packs the others`, async () => {
      const [damaged, other] = [await storeOld(2), await storeOld(2)];
      await run(damaged.id).execute(db);
      await assert.rejects(packBatch(db, damaged.id, DAYS), DamagedRecord);
      const warned: unknown[] = [];
      const log = { info: () => undefined, warn: (fields: object) => void warned.push({ ...fields, err: null }) };
      await packBatches({ db, clock: realClock, log, signal: new AbortController().signal }, DAYS);
      assert.deepEqual(warned, [{ batchId: damaged.id, err: null }]);
      assert.deepEqual(await countPacked(damaged.id), { archives: 0, empty: 0 });
      assert.deepEqual(await countPacked(other.id), { archives: 1, empty: 2 });
      // The next test expects no other batch.
      await db.updateTable('batches').set({ is_packed: true }).where('id', '=', damaged.id).execute();
    });
  }

  it('is all that a worker may do to contents, and nothing that serve may do', async () => {
    const { id } = await storeOld(2);
    const [serve, work] = Object.values(TEST_ROLES).map((name) => openDb(takeOnRole(poolConfig, name), quietLog));
    assert.ok(serve && work);
    for (const statement of [
      sql`update pipelines set payload = null, actions = null, instructions = null, vault_message = null`,
      sql`update bundles set transactions = null`,
      sql`update batches set is_packed = true`,
      sql`insert into batch_archives values (${id}, '{}', '{}', '{}', '{}', '{}', '{}')`,
      sql`delete from batch_archives`,
    ]) {
      for (const role of [serve, work]) await assert.rejects(statement.execute(role), { code: '42501' });
    }
    await assert.rejects(packBatch(serve, id, DAYS), { code: '42501' });
    assert.equal(await packBatch(work, id, DAYS), true);
    await Promise.all([closeDb(serve), closeDb(work)]);
  });

  it('lets no release start that cannot read what is packed', async () => {
    await sql`update schema_compatibility set required_migration = '0033-required-migration'`.execute(db);
    const { id } = await storeOld(1);
    assert.equal(await packBatch(db, id, DAYS), true);
    const read = () => db.selectFrom('schema_compatibility').select('required_migration').executeTakeFirst();
    assert.deepEqual(await read(), { required_migration: '0042-batch-archives' });
    await sql`update schema_compatibility set required_migration = '0099-later'`.execute(db);
    const later = await storeOld(1);
    assert.equal(await packBatch(db, later.id, DAYS), true);
    assert.deepEqual(await read(), { required_migration: '0099-later' });
  });
});

/** Stores a batch with random contents and three bundles that was executed 100 days ago. */
async function storeOld(size: number, of = project, first = anyPipeline()) {
  const key = randomUUID();
  const pipelines = [first, ...Array.from({ length: size - 1 }, anyPipeline)];
  const batch = await storeBatch(db, of, { pipelines, idempotencyKey: key });
  for (let sent = 0; sent < 3; sent += 1) {
    const transactions = SIGNATURES.slice(0, 1 + (sent % 2)).map(() => anyBytes(300).toString('base64'));
    await insertBundle(db, {
      ...newBundle(batch),
      transactions: transactions as never, // these are not parsed
      signatures: SIGNATURES.slice(0, transactions.length),
    });
  }
  await sql`update bundles set state = 'landed', landed_signatures = signatures where batch_id = ${batch.id}`.execute(
    db,
  );
  await sql`
    update batches set status = 'EXECUTED', finalized_at = now(), ended_at = now() - interval '100 days',
      end_finalized_at = now() - interval '100 days'
    where id = ${batch.id}
  `.execute(db);
  return { id: batch.id, key };
}

const TEXTS = [
  '',
  '"',
  '\\',
  '\\u0000',
  '\n\t\u2028',
  'é🎉',
  '{}',
  '1e400',
  'null',
  "'",
  ',',
  '\u0001',
  'x'.repeat(5_000),
];
const anyOf = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] ?? assert.fail();
const anyText = () => Array.from({ length: Math.floor(random() * 5) }, () => anyOf(TEXTS)).join('');
const anyBytes = (size: number) =>
  Buffer.from(Array.from({ length: Math.floor(random() * size) }, () => random() * 256));

function anyPipeline(): CompiledPipeline {
  const actions: readonly BatchAction[] = [
    { action: 'BURN', amount: 1.5 },
    { action: 'AIRDROP', amount: 1e-7, toAddress: randomAddress() },
    { action: 'MEMO', message: anyText() },
  ];
  const { instructions } = newPipeline();
  return {
    type: anyOf(['WATCH_AD', 'É, "x"']),
    payload: JSON.stringify({ id: random(), text: anyText() }),
    actions: actions.filter(() => random() < 0.5),
    instructions: [...instructions, ...instructions].filter(() => random() < 0.7),
    vaultMessage: new Uint8Array(anyBytes(400)),
  };
}

const USE_OF_PROJECT: Omit<CapQuestion, 'projectId' | 'proofHashes'> = {
  ...{
    multisig: randomAddress(),
    kind: 'pipelines',
    keyId: null,
    isAdmitted: true,
    uses: [],
    day: '2026-11-21',
    now: new Date(),
  },
};

/** Reads whatever the store tells of a batch and its contents. */
async function readAll(id: string, key: string, { id: projectId } = project, from: Db = db) {
  const { rows } = await sql<{ hash: string }>`
    select encode(proof_hash, 'hex') as hash from pipelines where batch_id = ${id} order by position
  `.execute(from);
  const hashes = rows.map(({ hash }) => hash);
  return {
    batch: await findBatch(from, id),
    byKey: await findBatchByIdempotencyKey(from, projectId, key),
    bundles: await findBundles(from, id),
    sent: await findSentBundles(from, id),
    past: await findPastPipelines(from, [id]),
    precedents: await findPrecedents(from, { projectId, batchId: randomUUID() }),
    proofs: await findProofsByHash(from, hashes, 20),
    seen: (await readCapUse(from, { ...USE_OF_PROJECT, projectId, proofHashes: hashes })).seenProofs,
  };
}

async function storedBytes(id: string): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    select ((select sum(pg_column_size(pipelines.*)) from pipelines where batch_id = ${id})
      + (select sum(pg_column_size(bundles.*)) from bundles where batch_id = ${id})
      + coalesce((select pg_column_size(batch_archives.*) from batch_archives where batch_id = ${id}), 0))::int as bytes
  `.execute(db);
  return rows[0]?.bytes ?? assert.fail();
}

async function countPacked(id: string) {
  const { rows } = await sql<{ archives: number; empty: number }>`
    select (select count(*)::int from batch_archives where batch_id = ${id}) as archives,
      (select count(*)::int from pipelines where batch_id = ${id} and payload is null) as empty
  `.execute(db);
  return rows[0];
}
