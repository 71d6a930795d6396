import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { realClock } from '@flywheel/testing/clock';
import { openTestDatabase } from '@flywheel/testing/postgres';
import {
  DAY,
  NOW,
  newBundle,
  newPipeline,
  storeBatch,
  storeNonces,
  storeProject,
  storeWorkerKeys,
} from '@flywheel/testing/records';
import { ROOT } from '@flywheel/testing/service-process';
import { type RawBuilder, sql } from 'kysely';
import type { Project } from '../../src/model/project.ts';
import { abandonMove, MoveRefused, type MoveStep, moveProject } from '../../src/projects/move-project.ts';
import { insertBundle, settleBundle } from '../../src/store/batches/bundles.ts';
import { findProofsByHash } from '../../src/store/batches/proofs.ts';
import { findHalt } from '../../src/store/company/pauses.ts';
import { recordSetupDay } from '../../src/store/company/totals.ts';
import type { Db } from '../../src/store/db.ts';
import { readColumns } from '../../src/store/shards/belongings.ts';
import { isHere } from '../../src/store/shards/directory.ts';
import { forgetPast } from '../../src/store/shards/past.ts';
import { readProjectRows } from '../fleet/two-shards.ts';

const [source, destination] = [await openTestDatabase(), await openTestDatabase()];
const [from, to] = [source.db, destination.db];
/** Several pages, of which several transactions each copy a part. */
const PAST = 300;
const PIPELINES = 8;

await storeNonces(from, 20);
const none = async () => undefined;

test('a project takes work while its past is copied, and only the rest moves while it refuses work', async () => {
  const { project, hash } = await storeProjectWithPast();
  const open = await storeBatch(from, project);
  const steps: MoveStep[] = [];
  let later = '';
  await moveProject({ from, to, clock: realClock }, project.id, async (step) => {
    steps.push(step);
    if (step === 'copied' && steps.length === 1) {
      assert.equal(await findHalt(from, project.id), null, 'it takes work');
      assert.equal(await isHere(from, { kind: 'proof', hash }), true);
      assert.equal(await isHere(to, { kind: 'proof', hash }), false, 'copies are not found');
      assert.deepEqual(await findProofsByHash(to, [hash], 5), []);
      later = (await storeBatch(from, project)).id;
    }
    if (step === 'departed') {
      assert.deepEqual(await countDeparted(), { batches: 2, pipelines: 4 });
      assert.equal(await isHere(from, { kind: 'proof', hash }), false, 'what is left behind is not found');
    }
  });
  assert.ok(steps.filter((step) => step === 'copied').length > 2, steps.join());
  assert.deepEqual(steps.slice(-3), ['refusing', 'departed', 'arrived']);
  const there = await to.selectFrom('batches').select('id').where('project_id', '=', project.id).execute();
  assert.equal(there.length, PAST + 3);
  assert.ok([open.id, later].every((id) => there.some((batch) => batch.id === id)));
  assert.equal(await isHere(to, { kind: 'proof', hash }), true);
});

test('an interrupted copy goes on, and what differs meanwhile is copied again', async () => {
  const { project } = await storeProjectWithPast();
  const before = await readProjectRows({ db: from }, project.id);
  await interruptAt('copied', project);
  assert.ok((await countBatches(to, project)) < PAST);
  const [first, second] = await to
    .selectFrom('batches')
    .select('id')
    .where('project_id', '=', project.id)
    .orderBy('batch_index')
    .execute();
  await to
    .deleteFrom('pipelines')
    .where('batch_id', '=', first?.id ?? '')
    .execute();
  await to
    .updateTable('batches')
    .set({ types: ['OTHER'] })
    .where('id', '=', second?.id ?? '')
    .execute();
  await interruptAt('refusing', project);
  await moveProject({ from, to, clock: realClock }, project.id, none);
  assert.deepEqual(await readProjectRows({ db: to }, project.id), before);
  assert.deepEqual((await readProjectRows({ db: from }, project.id)).rows, {});
});

test('a project does not arrive without the batches that were copied, and they are copied again', async () => {
  const { project } = await storeProjectWithPast();
  const before = await readProjectRows({ db: from }, project.id);
  const lose = () => forgetPast(to, { projectId: project.id, multisig: project.flywheel.multisig.address });
  const moving = moveProject({ from, to, clock: realClock }, project.id, async (step) => {
    if (step === 'refusing') await lose();
  });
  await assert.rejects(moving, /The destination has not all batches that were copied. Nothing has moved./);
  assert.equal(await findHalt(from, project.id), null);
  await interruptAt('departed', project);
  await lose();
  await moveProject({ from, to, clock: realClock }, project.id, none);
  assert.deepEqual((await readProjectRows({ db: to }, project.id)).rows, before.rows);
});

test('a move that is given up leaves nothing in the destination', async () => {
  const { project } = await storeProjectWithPast();
  await interruptAt('refusing', project);
  await abandonMove({ from, to }, project.id);
  assert.equal(await countBatches(to, project), 0);
  assert.equal(await countBatches(from, project), PAST + 1);
  await moveProject({ from, to, clock: realClock }, project.id, none);
  await assert.rejects(abandonMove({ from, to }, project.id), MoveRefused);
  assert.equal(await countBatches(to, project), PAST + 1);
});

test('a move back takes over what the source has not removed yet', async () => {
  const { project } = await storeProjectWithPast();
  const before = await readProjectRows({ db: from }, project.id);
  await interruptAt('arrived', project);
  assert.equal(await countBatches(from, project), PAST + 1);
  const { multisig } = project.flywheel;
  await storeWorkerKeys(from, project);
  await moveProject({ from: to, to: from, clock: realClock }, project.id, none);
  // The command of the first move, which was interrupted, removes nothing of a project that is back.
  await forgetPast(from, { projectId: project.id, multisig: multisig.address });
  assert.deepEqual((await readProjectRows({ db: from }, project.id)).rows, before.rows);
});

test('a project is whole in one database after its move was killed at any moment', async (context) => {
  const { project } = await storeProjectWithPast();
  await storeBatch(from, project);
  const before = await readProjectRows({ db: from }, project.id);
  for (const note of ['Settled batches are copied', 'refuses new work', 'have left the source', 'in the destination']) {
    await runCommand(project, note);
    const places = [from, to].map((db) => isHere(db, { kind: 'project', projectId: project.id }));
    const live = (await Promise.all(places)).filter(Boolean).length;
    context.diagnostic(`killed at “${note}”: found in ${live} databases, copied ${await countBatches(to, project)}`);
    assert.ok(live <= 1);
  }
  assert.equal(await runCommand(project, null), 0);
  assert.deepEqual((await readProjectRows({ db: to }, project.id)).rows, before.rows);
  assert.deepEqual((await readProjectRows({ db: from }, project.id)).rows, {});
});

/** Runs `flywheel move-project`, and kills it as soon as it notes this. @returns its exit code; null if it was killed. */
async function runCommand(project: Project, note: string | null): Promise<number | null> {
  const child = spawn(process.execPath, [join(ROOT, 'apps/cli/bin/flywheel.js'), 'move-project', project.id], {
    env: { PATH: process.env.PATH, DATABASE_URL: source.url, DESTINATION_DATABASE_URL: destination.url },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (note !== null && line.includes(note)) child.kill('SIGKILL');
  });
  await exited;
  return child.exitCode;
}

async function interruptAt(step: MoveStep, project: Project): Promise<void> {
  const interrupted = moveProject({ from, to, clock: realClock }, project.id, async (taken) => {
    if (taken === step) throw new Error(`interrupted at ${step}`);
  });
  await assert.rejects(interrupted, { message: `interrupted at ${step}` });
}

async function countBatches(db: Db, { id }: Project): Promise<number> {
  return (await db.selectFrom('batches').select('id').where('project_id', '=', id).execute()).length;
}

async function countDeparted(): Promise<Record<string, number>> {
  const { rows } = await sql<{ name: string; count: number }>`
    select table_name as name, sum(json_array_length(rows))::int as count from departed_rows
    where table_name in ('batches', 'pipelines') group by table_name
  `.execute(from);
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
}

/**
 * Stores a project with whose keys the destination's workers sign, with settled batches: one, and copies of it.
 * @returns a proof hash of it, in hex, too.
 */
async function storeProjectWithPast(): Promise<{ readonly project: Project; readonly hash: string }> {
  const project = await storeProject(from);
  const { address: multisig } = project.flywheel.multisig;
  await storeWorkerKeys(to, project);
  const pipelines = Array.from({ length: PIPELINES }, () => newPipeline());
  const batch = await storeBatch(from, project, { pipelines });
  const { id } = batch;
  const bundle = await insertBundle(from, newBundle(batch));
  await settleBundle(from, bundle.id, 'landed', { signatures: [], slot: 1n }, NOW);
  await recordSetupDay(from, { multisig, batchIndex: batch.batchIndex }, DAY);
  const times = { ended_at: NOW, end_finalized_at: NOW, closed_at: NOW };
  await from
    .updateTable('batches')
    .set({ status: 'EXECUTED', finalized_at: NOW, ...times })
    .where('id', '=', id)
    .execute();
  await from.updateTable('nonces').set({ state: 'available', batch_id: null }).where('batch_id', '=', id).execute();
  const copyId = sql`md5(${id} || n)::uuid`;
  await copyRows(
    'batches',
    { id: copyId, batch_index: sql`n + 1`, idempotency_key: sql`md5(${id} || n)::uuid` },
    sql`id = ${id}`,
  );
  for (const table of ['pipelines', 'bundles', 'batch_events']) {
    await copyRows(table, { batch_id: copyId }, sql`batch_id = ${id}`);
  }
  await copyRows('company_totals', { batch_index: sql`n + 1` }, sql`multisig = ${multisig}`);
  await sql`
    insert into ledger_entries (signature, batch_id, phase, fee_lamports, tip_lamports, rent_out_lamports, rent_back_lamports, vault_rent_lamports)
    select 'of ' || id, id, 'execution', 5, 1, 0, 0, 0 from batches where project_id = ${project.id}
  `.execute(from);
  await from
    .updateTable('flywheels')
    .set({ last_batch_index: BigInt(PAST + 1) })
    .where('project_id', '=', project.id)
    .execute();
  const row = await from
    .selectFrom('pipelines')
    .select('proof_hash')
    .where('batch_id', '=', id)
    .executeTakeFirstOrThrow();
  return { project, hash: Buffer.from(row.proof_hash).toString('hex') };
}

/** Inserts copies of rows, numbered from 1, that differ in some columns. */
async function copyRows(
  table: string,
  values: Readonly<Record<string, RawBuilder<unknown>>>,
  where: RawBuilder<unknown>,
): Promise<void> {
  const columns = (await readColumns(from, table)).filter(({ isIdentity }) => !isIdentity).map(({ name }) => name);
  await sql`
    insert into ${sql.table(table)} (${sql.join(columns.map((name) => sql.ref(name)))})
    select ${sql.join(columns.map((name) => values[name] ?? sql.ref(name)))}
    from (select * from ${sql.table(table)} where ${where}) source, generate_series(1, ${PAST}::int) n
  `.execute(from);
}
