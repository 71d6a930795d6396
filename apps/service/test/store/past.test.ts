import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { NO_POLICY } from '@flywheel/protocol';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import {
  DAY,
  endBatch,
  later,
  NOW,
  newBundle,
  RESERVED,
  randomAddress,
  SIGNATURES,
  storeBatch,
  storeNonces,
  storeProject,
  storeUses,
} from '@flywheel/testing/records';
import { sql } from 'kysely';
import { judgePast } from '../../src/batches/policy/judge-past.ts';
import type { Project } from '../../src/model/project.ts';
import { createBatchCounts } from '../../src/projects/batch-counts.ts';
import { findAuditEntries } from '../../src/store/audit.ts';
import { listBatchRecords } from '../../src/store/batches/batch-records.ts';
import { findBatches, findCurrentBatch, findIdsToSetUp } from '../../src/store/batches/batches.ts';
import { findBundles, findLandedSlot, insertBundle, settleBundle } from '../../src/store/batches/bundles.ts';
import { readCapUse } from '../../src/store/batches/cap-use.ts';
import { findDeadIndices, findUnclosedIds } from '../../src/store/batches/ends.ts';
import { readLamportsUse } from '../../src/store/batches/exposure.ts';
import {
  findOpenBatches,
  findRemainingPipelines,
  findTokenAccountsToCreate,
} from '../../src/store/batches/open-batches.ts';
import {
  findPastPipelines,
  findPrecedents,
  lockBatchesOfDays,
  lockUnfinishedBatches,
} from '../../src/store/batches/past-batches.ts';
import { findLastFinalProof, findProofsBySignature } from '../../src/store/batches/proofs.ts';
import { findMissedRotation, findOpenIds, findRotations } from '../../src/store/batches/rotations.ts';
import { readCounts, readSpending } from '../../src/store/company/overview.ts';
import { findHeldJobs } from '../../src/store/company/pauses.ts';
import { insertPolicy } from '../../src/store/company/policies.ts';
import { countEarlierTokenAccounts } from '../../src/store/company/policy-uses.ts';
import { closeDb, type Db, openDb } from '../../src/store/db.ts';
import { sumFinalBurns } from '../../src/store/projects/daily-limits.ts';
import { findProjectSummaries } from '../../src/store/projects/projects.ts';
import { readServiceState } from '../../src/store/service-state.ts';

const { db, poolConfig } = await openTestDatabase();

/** Closed batches of one project. */
const PAST = 4_000;
/** The uses that each of them has counted for the company's rules, on one day. */
const USES = [
  { kind: 'type', subject: 'WATCH_AD', amount: 1n },
  { kind: 'token-account', subject: 'shared', amount: 1n },
] as const;
const idOf = (n: number) =>
  createHash('md5')
    .update(`batch${n}`)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
/** The older half of the batches is packed. */
const [PACKED, UNPACKED] = [idOf(7), idOf(PAST - 7)];
/** Far fewer than the past, and more than any page. */
const FEW = 300;

/** Executed batches of another project. Twice as many rows and index entries as they have pipelines are all of it. */
const LARGE_BATCHES = 12;
const PIPELINES_OF_LARGE = 1_000;

/** PostgreSQL may plan a statement for all values from its sixth execution on; it is prepared with the third. */
const EXECUTIONS = 8;

describe('statements beside a long past', () => {
  let project: Project;
  let ofLargeBatches: Project;
  before(async () => {
    await storeNonces(db, 4);
    project = await storeProject(db);
    await storePast(project);
    await storeBatch(db, project);
    const by = { mint: project.token.mint, operator: project.wallet, appliedAt: NOW };
    await insertPolicy(db, project.flywheel.multisig.address, { version: 1, policy: NO_POLICY, ...by });
    ofLargeBatches = await storeProject(db);
    await storeLargeBatches(ofLargeBatches);
    await storeLog(project);
    await sql`vacuum analyze`.execute(db);
  });

  const countAgain = createBatchCounts();
  const page = { status: undefined, below: null, limit: 21 };
  const listed = { ...page, waitsFor: undefined, batchIndex: undefined, batchId: undefined };
  const reads: Readonly<Record<string, (trx: Db, project: Project) => Promise<unknown>>> = {
    'the batches to set up': (trx, { flywheel: { id } }) =>
      findIdsToSetUp(trx, id, { upToIndex: BigInt(PAST + 3), reachedIndex: BigInt(PAST + 2) }),
    'indices that were never used': (trx, { flywheel: { id } }) =>
      findDeadIndices(trx, id, BigInt(PAST + 2), BigInt(PAST + 3)),
    'the batches that are not closed': (trx, { flywheel: { id } }) => findUnclosedIds(trx, id),
    'the open batches of a flywheel': (trx, { flywheel: { id } }) => findOpenIds(trx, id),
    'the open batches of a project': (trx, { id }) => findOpenBatches(trx, id),
    'the current batch': (trx, { id }) => findCurrentBatch(trx, id, later(-30_000)),
    'a page of batches': (trx, { id }) => findBatches(trx, id, page),
    'a page of failed batches': (trx, { id }) => findBatches(trx, id, { ...page, status: 'FAILED' }),
    'a page of batches of pipelines': (trx, { id }) => findBatches(trx, id, { ...page, kind: 'pipelines' }),
    'a page of withdrawals': (trx, { id }) => findBatches(trx, id, { ...page, kind: 'withdrawal' }),
    'a page of batches in the middle': (trx, { id }) => findBatches(trx, id, { ...page, below: BigInt(PAST / 2) }),
    'a page of the console': (trx, { id }) => listBatchRecords(trx, id, listed),
    'a page of batches that wait': (trx, { id }) => listBatchRecords(trx, id, { ...listed, waitsFor: 'wallet' }),
    'a batch by its index': (trx, { id }) => listBatchRecords(trx, id, { ...listed, batchIndex: 7n }),
    'a batch by its id': (trx, { id }) => listBatchRecords(trx, id, { ...listed, batchId: PACKED }),
    'the rotations': (trx, { id }) => findRotations(trx, id, 20),
    'a rotation that was missed': (trx, { flywheel }) =>
      findMissedRotation(trx, { ...flywheel, multisig: { ...flywheel.multisig, wallet: flywheel.multisig.company } }),
    'the numbers of batches by status': (trx, { id }) => countAgain(trx, id),
    'the lamports of the project': (trx, { id }) => readLamportsUse(trx, DAY, id),
    'the summary of the project': (trx, { id }) => findProjectSummaries(trx, { projectId: id }),
    'the burns of the project': (trx, { id }) => sumFinalBurns(trx, id),
    'the last proof': (trx, { id }) => findLastFinalProof(trx, id),
    'proofs by a signature': (trx) => findProofsBySignature(trx, SIGNATURES[0] ?? '', 20),
    'the slot that has landed': (trx, { flywheel: { id } }) => findLandedSlot(trx, id),
    'the numbers of the company': (trx) => readCounts(trx),
    'the spending of the company': (trx) => readSpending(trx, NOW),
    'what pipelines do': (trx) => findPastPipelines(trx, [PACKED, UNPACKED]),
    'pipelines that are left': (trx) =>
      findRemainingPipelines(trx, [
        { id: PACKED, executedPipelines: 0 },
        { id: UNPACKED, executedPipelines: 1 },
      ]),
    'token accounts to create': (trx) =>
      findTokenAccountsToCreate(trx, [PACKED, UNPACKED], { creator: randomAddress(), limit: 10 }),
    'the bundles of a batch': (trx) => findBundles(trx, UNPACKED),
    'the jobs that a pause has held': (trx, { id }) => findHeldJobs(trx, id),
    'all jobs that a pause has held': (trx) => findHeldJobs(trx, null),
    'the batches of a day': (trx, { id }) => lockBatchesOfDays(trx, id, { firstDay: DAY, after: 0n, limit: 50 }),
    'the batches whose end may change': (trx, { id }) => lockUnfinishedBatches(trx, id),
    'the token accounts of a day': (trx, { id: projectId }) => countEarlierTokenAccounts(trx, { projectId, day: DAY }),
    'the caps and rules of a new batch': (trx, { id: projectId, flywheel: { multisig } }) =>
      readCapUse(trx, {
        ...{ projectId, multisig: multisig.address, kind: 'pipelines', keyId: null, isAdmitted: true },
        ...{ proofHashes: [], uses: USES, day: DAY, now: NOW },
      }),
    'the caps of a new batch in its day': (trx, { id: projectId }) =>
      storeUses(trx, { batchId: randomUUID(), projectId, day: DAY }, { uses: USES, isRead: true }),
    'a page of the audit log of a project': (trx, { id: projectId }) =>
      findAuditEntries(trx, { projectId, below: null, limit: 21 }),
    'a page of the audit log of a project in the middle': (trx, { id: projectId }) =>
      findAuditEntries(trx, { projectId, below: { id: BigInt(LOGGED / 2), at: later(LOGGED / 2) }, limit: 21 }),
    'a page of the audit log of all projects': (trx) =>
      findAuditEntries(trx, { projectId: null, below: null, limit: 21 }),
    'the state of the service': (trx) => readServiceState(trx, { operator: randomAddress(), now: NOW }),
  };
  for (const [name, read] of Object.entries(reads)) {
    it(`read a few rows for ${name}`, async () => {
      const rows = await countRowsRead((trx) => read(trx, project));
      assert.ok(rows <= FEW, `${rows} rows and index entries were read`);
    });
  }

  it('read the newest batches only for the precedents of a batch', async () => {
    const rows = await countRowsRead((trx) => findPrecedents(trx, { projectId: project.id, batchId: project.id }));
    assert.ok(rows < PAST, `${rows} rows and index entries were read`);
    const { id } = ofLargeBatches;
    const ofLarge = await countRowsRead((trx) => findPrecedents(trx, { projectId: id, batchId: id }));
    assert.ok(ofLarge < LARGE_BATCHES * PIPELINES_OF_LARGE, `${ofLarge} rows and index entries were read`);
  });

  it('read the newest batches only to judge the past by a rule', async () => {
    const rows = await countRowsRead((trx) => judgePast(trx, project, NO_POLICY, new Date(0)));
    assert.ok(rows < PAST, `${rows} rows and index entries were read`);
  });

  it('know the slot in which an old batch has landed that is still open', async () => {
    await db.updateTable('batches').set({ closed_at: null }).where('id', '=', PACKED).execute();
    await db.updateTable('bundles').set({ landed_slot: 9n }).where('batch_id', '=', PACKED).execute();
    assert.equal(await findLandedSlot(db, project.flywheel.id), 9n);
  });
});

describe('the numbers of batches by status', () => {
  const count = createBatchCounts();
  it('follow each batch, also one that a fork has undone', async () => {
    await storeNonces(db, 4);
    const project = await storeProject(db);
    const counts = async () => Object.values(await count(db, project.id));
    const [first, second] = [await storeBatch(db, project), await storeBatch(db, project)];
    assert.deepEqual(await counts(), [2, 0, 0, 0]);
    await endBatch(db, first.id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, NOW);
    assert.deepEqual(await counts(), [1, 0, 0, 1]);
    await db.updateTable('batches').set({ status: 'FINALIZED' }).where('id', '=', second.id).execute();
    await storeBatch(db, project);
    assert.deepEqual(await counts(), [1, 1, 0, 1]);
    await endBatch(db, second.id, { transition: 'EXECUTION_LANDED', released: NOTHING }, NOW);
    assert.deepEqual(await counts(), [1, 0, 1, 1]);
    await endBatch(db, second.id, { transition: 'EXECUTION_UNDONE', released: RESERVED }, NOW);
    assert.deepEqual(await counts(), [1, 0, 0, 2]);
    await storeBatch(db, project);
    assert.deepEqual(
      [await counts(), await createBatchCounts()(db, project.id)],
      [[2, 0, 0, 2], await count(db, project.id)],
    );
  });
});

const NOTHING = { burnBaseUnits: 0n, airdropBaseUnits: 0n };

/** Counts the rows and the entries of indices that a call reads in all tables, with its statements planned for all values. */
async function countRowsRead(read: (trx: Db) => Promise<unknown>): Promise<number> {
  const single = openDb({ ...poolConfig, max: 1 }, quietLog);
  try {
    return await single.transaction().execute(async (trx) => {
      for (let i = 1; i < EXECUTIONS; i++) await read(trx);
      const before = await readCounters(trx);
      await read(trx);
      return (await readCounters(trx)) - before;
    });
  } finally {
    await closeDb(single);
  }
}

async function readCounters(trx: Db): Promise<number> {
  const { rows } = await sql<{ read: number }>`
    select sum(pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid))::float8 as read
    from pg_class where relkind in ('r', 'i') and relnamespace = current_schema()::regnamespace
  `.execute(trx);
  return rows[0]?.read ?? Number.NaN;
}

/** Stores a closed batch with a pipeline and a bundle, and as many copies of it, each older than the one before. */
async function storePast(project: Project): Promise<void> {
  const batch = await storeBatch(db, project);
  await db.updateTable('batches').set({ status: 'FINALIZED' }).where('id', '=', batch.id).execute();
  const { id } = await insertBundle(db, newBundle(batch, { phase: 'execution', pipelineCounts: [1, 1] }));
  await settleBundle(db, id, 'landed', { signatures: SIGNATURES, slot: 5n }, NOW);
  await sql`
    insert into batches
    select (jsonb_populate_record(batches, jsonb_build_object(
      'id', md5('batch' || n), 'batch_index', n + 1, 'idempotency_key', md5('key' || n),
      'status', case when n % 1000 = 0 then 'FAILED' else 'EXECUTED' end, 'pipeline_count', 400,
      'reserved_day', ${DAY}::date - 1 - (${PAST}::int - n) / 20,
      'created_at', ${NOW}::timestamptz - (${PAST}::int - n) * interval '1 hour',
      'ended_at', ${later(-86_400_000)}::timestamptz, 'closed_at', ${later(-86_400_000)}::timestamptz,
      'end_finalized_at', ${later(-86_400_000)}::timestamptz
    ))).*
    from batches, generate_series(1, ${PAST}::int) n where id = ${batch.id}
  `.execute(db);
  await sql`
    insert into pipelines
    select (jsonb_populate_record(pipelines, jsonb_build_object('batch_id', md5('batch' || n), 'position', position + 398))).*
    from pipelines, generate_series(1, ${PAST}::int) n where batch_id = ${batch.id}
  `.execute(db);
  await sql`
    insert into batch_archives
    select batch_id, array_agg(type), array_agg(payload), array_agg(actions::text), array_agg(instructions::text),
      array_agg(vault_message), '{}'
    from pipelines join batches on batches.id = batch_id where batch_index between 2 and ${PAST / 2}
    group by batch_id
  `.execute(db);
  await sql`
    update pipelines set payload = null, actions = null, instructions = null, vault_message = null
    from batch_archives where batch_archives.batch_id = pipelines.batch_id
  `.execute(db);
  await sql`
    insert into bundles overriding system value
    select (jsonb_populate_record(bundles, jsonb_build_object('id', ${id}::bigint + n, 'batch_id', md5('batch' || n), 'landed_signatures', '[]'::jsonb))).*
    from bundles, generate_series(1, ${PAST}::int) n where bundles.id = ${id}
  `.execute(db);
  await sql`
    insert into ledger_entries (signature, batch_id, phase, fee_lamports, tip_lamports, rent_out_lamports, rent_back_lamports, vault_rent_lamports)
    select md5('entry' || n), md5('batch' || n)::uuid, 'execution', 1, 1, 0, 0, 0 from generate_series(1, ${PAST}::int) n
  `.execute(db);
  await sql`
    insert into daily_spending (project_id, day, lamports)
    select ${project.id}, ${DAY}::date - n, 1 from generate_series(0, ${PAST}::int / 100) n
  `.execute(db);
  await sql`
    insert into policy_uses (batch_id, project_id, day, kind, subject, amount)
    select md5('batch' || n)::uuid, ${project.id}, ${DAY}::date, kind, subject, 1
    from generate_series(1, ${PAST}::int) n,
      lateral (values ('type', 'WATCH_AD'), ('token-account', 'shared'), ('token-account', 'own' || n)) as uses (kind, subject)
  `.execute(db);
  await db
    .updateTable('batches')
    .set({ batch_index: BigInt(PAST + 2) })
    .where('id', '=', batch.id)
    .execute();
  await db
    .updateTable('flywheels')
    .set({ last_batch_index: BigInt(PAST + 2) })
    .where('id', '=', project.flywheel.id)
    .execute();
}

/** Entries of the project in the audit log. */
const LOGGED = 400;

/** Stores the entries of a project in the audit log, and after them many of no project. */
async function storeLog(project: Project): Promise<void> {
  await sql`
    insert into audit_log (at, actor, action, project_id)
    select ${NOW}::timestamptz + n * interval '1 ms', ${project.wallet}, 'limits.changed',
      case when n <= ${LOGGED}::int then ${project.id}::uuid end
    from generate_series(1, ${LOGGED}::int + 2 * ${PAST}::int) n
  `.execute(db);
}

/** Stores executed batches, each a copy of one with as many pipelines. */
async function storeLargeBatches(project: Project): Promise<void> {
  const { id } = await storeBatch(db, project);
  await db.updateTable('batches').set({ status: 'FINALIZED' }).where('id', '=', id).execute();
  await sql`
    insert into batches
    select (jsonb_populate_record(batches, jsonb_build_object(
      'id', md5('large' || n), 'batch_index', n + 1, 'idempotency_key', md5('large' || n), 'status', 'EXECUTED',
      'pipeline_count', ${PIPELINES_OF_LARGE}::int, 'closed_at', ${NOW}::timestamptz, 'ended_at', ${NOW}::timestamptz,
      'end_finalized_at', ${NOW}::timestamptz
    ))).*
    from batches, generate_series(1, ${LARGE_BATCHES}::int) n where id = ${id}
  `.execute(db);
  await sql`
    insert into pipelines
    select (jsonb_populate_record(pipelines, jsonb_build_object('batch_id', md5('large' || n), 'position', place))).*
    from pipelines, generate_series(1, ${LARGE_BATCHES}::int) n, generate_series(0, ${PIPELINES_OF_LARGE}::int - 1) place
    where batch_id = ${id} and position = 0
  `.execute(db);
}
