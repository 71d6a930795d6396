import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { waitUntil } from '@flywheel/testing/batches';
import { burnPipeline, execute, init } from '@flywheel/testing/client';
import { startTestJobs } from '@flywheel/testing/jobs';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { createProject, requireOk, signWith } from '@flywheel/testing/project';
import { randomAddress, storeBatch, storeNonces, storeProject } from '@flywheel/testing/records';
import { openWorld, type World } from '@flywheel/testing/world';
import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import { OWN_ISSUE } from '../../src/batches/jobs/execution-issues.ts';
import { type ExecutionIssue, heldUp } from '../../src/model/batch.ts';
import { createSignerFile } from '../../src/solana/signer.ts';
import { setPauseForAll, setProjectPause } from '../../src/store/company/pauses.ts';
import { readServiceState } from '../../src/store/service-state.ts';
import { createMetrics, renderMetrics } from '../../src/telemetry/metrics.ts';

describe('/metrics', () => {
  let world: World;
  before(async () => {
    world = await openWorld({ METRICS_PORT: '0' });
  });
  after(() => world.stop());

  it('counts requests, bundles and jobs, and shows what is open', async () => {
    const project = await createProject(world);
    const executed = requireOk(await init(world.url, project.apiKey, [burnPipeline(1)]));
    const signedTx = await signWith(project.wallet, executed.proposalApproveTx);
    requireOk(await execute(world.url, project.apiKey, executed.batch.id, signedTx));
    requireOk(await init(world.url, project.apiKey, [burnPipeline(1)]));
    assert.equal((await init(world.url, 'fw_unknown', [burnPipeline(1)])).status, 401);

    // The nonces of the executed batch return once its end is final.
    const samples = await waitUntil(
      'the nonces',
      () => scrape(world),
      (found) => found.get('flywheel_nonces{state="leased",share="common"}') === 1,
    );
    assert.equal(
      samples.get('flywheel_http_request_duration_seconds_count{route="POST /v1/flywheel/batch/init",status="200"}'),
      2,
    );
    const refused =
      'flywheel_http_errors_total{route="POST /v1/flywheel/batch/init",status="401",code="ERR_UNAUTHORIZED"}';
    assert.equal(samples.get(refused), 1);
    assert.ok((samples.get('flywheel_bundles_settled_total{phase="execution",outcome="landed"}') ?? 0) >= 1);
    assert.ok((samples.get('flywheel_job_duration_seconds_count{type="setup",outcome="done"}') ?? 0) >= 1);
    const open = [...samples].filter(([name]) => name.startsWith('flywheel_open_batches{'));
    assert.equal(
      open.reduce((sum, [, count]) => sum + count, 0),
      1,
    );
    const { address } = world.operator;
    assert.ok((samples.get(`flywheel_operator_balance_lamports{address="${address}"}`) ?? 0) > 1e9);
    assert.ok((samples.get('flywheel_job_duration_seconds_count{type="keep-partitions",outcome="done"}') ?? 0) >= 1);
    assert.ok((samples.get('flywheel_partitions_ahead_seconds') ?? 0) > 60 * 86_400);
    assert.equal(samples.get('flywheel_state_readable{source="database"}'), 1);
  });

  it('shows for how long a statement of a request has been running, beside an idle worker', async () => {
    const project = await createProject(world);
    const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = world.db.transaction().execute(async (trx) => {
      await trx.selectFrom('projects').select('id').where('id', '=', project.projectId).forUpdate().execute();
      begun.resolve();
      await end.promise;
    });
    await begun.promise;
    const waiting = init(world.url, project.apiKey, [burnPipeline(1)]);
    try {
      await waitUntil(
        'a query of a second',
        () => scrape(world),
        (found) => (found.get('flywheel_database_oldest_query_seconds') ?? 0) > 1,
      );
    } finally {
      end.resolve();
    }
    await holding;
    requireOk(await waiting);
  });

  it('reports that the cluster cannot be read, and still reports the database', async () => {
    const text = await renderMetrics({
      metrics: createMetrics(),
      readServiceState: () => readServiceState(world.db, { operator: world.operator.address, now: new Date() }),
      readOperatorBalances: () => Promise.reject(new Error('no cluster')),
      log: quietLog,
    });
    const samples = samplesOf(text);
    assert.equal(samples.get('flywheel_state_readable{source="cluster"}'), 0);
    assert.equal(samples.get('flywheel_state_readable{source="database"}'), 1);
    assert.doesNotMatch(text, /^flywheel_operator_balance_lamports\b/m);
  });

  it('has every counter and the free nonces from 0 on: an alert sees no increase in, and no share of, a series that is missing', async () => {
    const { db, close } = await openTestDatabase();
    const text = await renderMetrics({
      metrics: createMetrics(),
      readServiceState: () => readServiceState(db, { operator: randomAddress(), now: new Date() }),
      readOperatorBalances: async () => [],
      log: quietLog,
    });
    await close();
    const samples = samplesOf(text);
    const alerted = [
      'flywheel_bundles_settled_total{phase="execution",outcome="landed"}',
      'flywheel_bundles_settled_total{phase="setup",outcome="lost"}',
      'flywheel_bundle_tips_lamports_total{phase="close"}',
      'flywheel_cap_refusals_total{scope="unadmitted",kind="locked"}',
      'flywheel_webhook_attempts_total{outcome="exhausted"}',
      'flywheel_webhook_lag_seconds',
      'flywheel_partitions_not_dropped_total{table="batch_events"}',
      'flywheel_nonces{state="available",share="common"}',
    ];
    assert.deepEqual(
      alerted.map((name) => [name, samples.get(name)]),
      alerted.map((name) => [name, 0]),
    );
  });

  it('shows no lag of jobs that wait for the one before them, unless that one fails', async () => {
    const database = await openTestDatabase();
    const { db } = database;
    const jobs = await startTestJobs(database);
    const multisig = randomAddress();
    for (const batchId of [randomUUID(), randomUUID()]) await jobs.enqueue(db, { type: 'execute', batchId, multisig });
    await jobs.stop();
    await sql`update jobs.job set start_after = now() - interval '1 hour'`.execute(db);
    const setFirst = (columns: string) =>
      sql`update jobs.job set ${sql.raw(columns)} where id = (select id from jobs.job order by created_on, id limit 1)`.execute(
        db,
      );
    const readLag = async () =>
      Math.round((await readServiceState(db, { operator: randomAddress(), now: new Date() })).jobLagSeconds / 3_600);
    assert.equal(await readLag(), 1);
    await setFirst("state = 'active', started_on = now(), heartbeat_on = now()");
    assert.equal(await readLag(), 0);
    await setFirst('retry_count = 1');
    assert.equal(await readLag(), 1);
    await setFirst("state = 'retry', start_after = now() + interval '10 seconds'");
    assert.equal(await readLag(), 1);
    await database.close();
  });

  it('shows the free nonces that all projects share apart from those of an admitted one, and none of another operator', async () => {
    const { db, close } = await openTestDatabase();
    await storeNonces(db, 6);
    const operator = randomAddress();
    const addresses = (await db.selectFrom('nonces').select('address').execute()).map(({ address }) => address);
    const setFrom = (start: number, values: { share?: Address; authority: Address }) =>
      db.updateTable('nonces').set(values).where('address', 'in', addresses.slice(start)).execute();
    await setFrom(0, { authority: operator });
    await setFrom(2, { authority: operator, share: randomAddress() });
    await setFrom(5, { authority: randomAddress() });
    const { nonces } = await readServiceState(db, { operator, now: new Date() });
    const free = nonces.filter(({ state }) => state === 'available');
    assert.deepEqual(
      free.map(({ share, count }) => [share, count]),
      [
        ['common', 2],
        ['own', 3],
      ],
    );
    await close();
  });

  it('shows what a pause holds up as that, so that no alert about slow setups is raised meanwhile', async () => {
    const { db, close } = await openTestDatabase();
    await storeNonces(db, 2);
    const [project, paused] = [await storeProject(db), await storeProject(db)];
    for (const each of [project, paused]) await storeBatch(db, each);
    const read = async () => {
      const { openBatches } = await readServiceState(db, { operator: randomAddress(), now: new Date() });
      return openBatches.map(({ waitsFor, count }) => [waitsFor, count]);
    };
    assert.deepEqual(await read(), [['setup', 2]]);
    await setProjectPause(db, paused.id, { since: new Date(), reason: null });
    assert.deepEqual(await read(), [
      ['pause', 1],
      ['setup', 1],
    ]);
    await setPauseForAll(db, { since: new Date(), reason: null });
    assert.deepEqual(await read(), [['pause', 2]]);
    await close();
  });

  it('shows the balance of a previous operator as long as it pays for a project', async () => {
    await createProject(world);
    const directory = await mkdtemp(join(tmpdir(), 'flywheel-metrics-'));
    const path = join(directory, 'operator.json');
    const next = await createSignerFile(path);
    await world.localnet.bank.airdrop(next, 5_000_000_000n);
    const previous = world.operator.address;
    await world.restart({ OPERATOR_SIGNER: path, OPERATOR_SIGNER_PREVIOUS: world.environment.OPERATOR_SIGNER ?? '' });
    const balanceOf = (samples: Map<string, number>, address: string) =>
      samples.get(`flywheel_operator_balance_lamports{address="${address}"}`);
    const both = await scrape(world);
    assert.ok((balanceOf(both, next) ?? 0) > 1e9);
    assert.ok((balanceOf(both, previous) ?? 0) > 1e9);
    await world.db.updateTable('flywheels').set({ operator: next }).execute();
    assert.equal(balanceOf(await scrape(world), previous), undefined);
    await rm(directory, { recursive: true });
  });

  it('shows executions that an error of the service holds up apart from those that wait for a deposit or a rule', async () => {
    const { db, close } = await openTestDatabase();
    await storeNonces(db, 4);
    const project = await storeProject(db);
    const issues: ExecutionIssue[] = [
      OWN_ISSUE,
      heldUp('a rule of the company makes it wait.'),
      { code: 'ERR_VAULT_UNDERFUNDED', context: { problems: ['The vault lacks 1 SOL.'] } },
    ];
    for (const issue of issues) {
      const { id } = await storeBatch(db, project);
      const changes = { status: 'FINALIZED', execution_error: JSON.stringify(issue) } as const;
      await db.updateTable('batches').set(changes).where('id', '=', id).execute();
    }
    const { id } = await storeBatch(db, project);
    const error = JSON.stringify(heldUp('the operator lacks 1 SOL.'));
    await db.updateTable('batches').set({ execution_error: error }).where('id', '=', id).execute();
    const { openBatches } = await readServiceState(db, { operator: randomAddress(), now: new Date() });
    assert.deepEqual(
      openBatches.map(({ status, waitsFor, count }) => [status, waitsFor, count]),
      [
        ['AVAILABLE_TO_QUEUE', 'setup', 1],
        ['FINALIZED', 'issue', 2],
        ['FINALIZED', 'service', 1],
      ],
    );
    await close();
  });

  it('is not served on the public port', async () => {
    assert.equal((await fetch(new URL('/metrics', world.url))).status, 404);
  });
});

/** Reads the samples by name and labels. */
async function scrape({ app }: World): Promise<Map<string, number>> {
  assert.ok(app.metricsUrl);
  const response = await fetch(app.metricsUrl);
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  return samplesOf(await response.text());
}

function samplesOf(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}
