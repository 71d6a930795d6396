import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertError, executeSigned, openBatch, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { burnPipeline, getBatch } from '@flywheel/testing/client';
import { changeTerms, signTerms } from '@flywheel/testing/decisions';
import type { GatedWorld } from '@flywheel/testing/gate';
import { findJobIds, makeDue } from '@flywheel/testing/jobs';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { address } from '@solana/kit';
import { sql } from 'kysely';
import { createLog } from '../../src/log.ts';
import { type Job, startJobs } from '../../src/store/jobs/jobs.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import {
  approve,
  askCompany,
  createManualProject,
  type Operator,
  openCompanyWorld,
  reject,
  setPause,
} from './operators.ts';

const UNKNOWN = '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d';

describe('the company’s overview', () => {
  let world: GatedWorld;
  let operator: Operator;
  before(async () => {
    const opened = await openCompanyWorld();
    world = opened.world;
    [operator] = opened.operators;
  });
  after(() => world.stop());

  it('shows the state of the service: locked rent, costs, waiting batches', async () => {
    const fresh = await read('');
    assert.equal(fresh.operator.address, world.operator.address);
    assert.deepEqual(
      [fresh.isPaused, fresh.operator.rentOutLamports, fresh.operator.spentPerDayLamports, fresh.operator.runwayDays],
      [false, '0', '0', null],
    );
    assert.ok(fresh.nonces.available > 0);
    assert.deepEqual([fresh.projects, fresh.openBatches, fresh.waitingBatches, fresh.stuckJobs], [0, 0, 0, 0]);

    const project = await createManualProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    const open = await waitUntil(
      'the rent that is out',
      async () => {
        // Its costs are read when its setup is final.
        await makeDue(world, 'setup', batch.id);
        return read('');
      },
      ({ operator: { rentOutLamports } }) => rentOutLamports !== '0',
    );
    assert.deepEqual([open.projects, open.openBatches, open.waitingBatches, open.nonces.leased], [1, 1, 0, 1]);
    // A refill of the nonces may change the balance between the two reads.
    await waitUntil(
      'the operator’s balance',
      async () => {
        const { lamports } = (await read('')).operator;
        return [lamports, String((await world.rpc.getBalance(world.operator.address).send()).value)];
      },
      ([shown, onChain]) => shown === onChain,
    );
    assert.equal((await executeSigned(world, project, batch)).status, 202);
    assert.equal((await read('')).waitingBatches, 1);

    requireOk(await approve(world, operator, batch.id));
    await untilClosed(project, batch.id);
    const closed = await read('');
    assert.deepEqual([closed.openBatches, closed.waitingBatches, closed.operator.rentOutLamports], [0, 0, '0']);
    const { ledger } = requireOk(await getBatch(world.url, project.apiKey, batch.id, '?include=ledger'));
    const spent = BigInt(ledger.feeLamports) + BigInt(ledger.tipLamports);
    assert.equal(closed.operator.spentPerDayLamports, String(spent / 7n));
    assert.equal(closed.operator.runwayDays, Number(BigInt(closed.operator.lamports) / (spent / 7n)));

    await setPause(world, operator, 'all', true, 'An upgrade.');
    const paused = await read('');
    assert.deepEqual([paused.isPaused, paused.pauseReason], [true, 'An upgrade.']);
    await setPause(world, operator, 'all', false);
  });

  it('says that the cluster does not answer, and shows everything else', async () => {
    world.gate.intercept('getMultipleAccounts', async () => ({ status: 500, body: '' }));
    const { operator: signer, projects } = await read('');
    world.gate.clear();
    assert.deepEqual([signer.lamports, signer.runwayDays], [null, null]);
    assert.ok(projects > 0);
  });

  it('lists every batch that waits for the company, oldest first, until it is decided', async () => {
    const projects = [await createManualProject(world), await createManualProject(world, { decimals: 2 })] as const;
    const batches: { readonly id: string }[] = [];
    for (const project of projects) {
      const batch = await setUpBatch(world, project, [burnPipeline(3), burnPipeline(4)]);
      assert.equal((await executeSigned(world, project, batch)).status, 202);
      batches.push(batch);
    }
    const { batches: waiting } = await read('waiting');
    assert.deepEqual(
      waiting.map((row: Record<string, unknown>) => [row.id, row.projectId, row.mintAddress, row.decimals, row.burned]),
      projects.map((project, i) => [batches[i]?.id, project.projectId, project.mint, i === 0 ? 6 : 2, '7']),
    );
    assert.deepEqual([waiting[0].waitsFor, waiting[0].pipelines, waiting[0].actions.burn], ['company', 2, 2]);
    assert.ok(Date.parse(waiting[0].requestedAt) <= Date.parse(waiting[1].requestedAt));
    requireOk(await reject(world, operator, batches[0]?.id ?? '', 'Not this one.'));
    requireOk(await approve(world, operator, batches[1]?.id ?? ''));
    assert.deepEqual((await read('waiting')).batches, []);
  });

  it('lists a batch of each project before a second of any, and finds one that is not listed by its id', async () => {
    const [crowd, other] = [await createManualProject(world), await createManualProject(world)];
    const [first, last] = [
      await setUpBatch(world, crowd, [burnPipeline()]),
      await setUpBatch(world, other, [burnPipeline()]),
    ];
    assert.equal((await executeSigned(world, crowd, first)).status, 202);
    await addWaiting(first.id, 119);
    assert.equal((await executeSigned(world, other, last)).status, 202);
    const listed: { readonly id: string }[] = (await read('waiting')).batches;
    assert.deepEqual([listed.length, listed[0]?.id, listed.at(-1)?.id], [100, first.id, last.id]);

    const newest = await world.db
      .selectFrom('batches')
      .select('id')
      .where('project_id', '=', crowd.projectId)
      .orderBy('batch_index', 'desc')
      .limit(1)
      .executeTakeFirstOrThrow();
    assert.ok(listed.every(({ id }) => id !== newest.id));
    const { batches: found } = await read(`waiting?batchId=${newest.id}`);
    assert.deepEqual([found.length, found[0].id, found[0].projectId], [1, newest.id, crowd.projectId]);

    requireOk(await approve(world, operator, last.id));
    assert.deepEqual((await read(`waiting?batchId=${last.id}`)).batches, []);
    requireOk(await reject(world, operator, first.id, 'Not this one.'));
    const { projectId } = crowd;
    await world.db.deleteFrom('batches').where('project_id', '=', projectId).where('id', '!=', first.id).execute();
  });

  it('lists every project, newest first, with its open batches', async () => {
    const project = await createProject(world);
    const [newest] = (await read('projects')).projects;
    assert.deepEqual(
      [newest.id, newest.wallet, newest.token.mint, newest.approvalMode, newest.isPaused],
      [project.projectId, project.wallet.address, project.mint, 'automatic', false],
    );
  });

  it('is not available to other wallets', async () => {
    const project = await createProject(world);
    for (const path of ['', 'projects', 'waiting', 'jobs', 'audit']) {
      assertError(await askCompany(world, project, 'GET', path), 403, 'ERR_COMPANY_ONLY');
      assertError(await askCompany(world, { cookie: '' }, 'GET', path), 401, 'ERR_UNAUTHORIZED');
    }
    const terms = await changeTerms(world, { ...project, wallet: project.wallet }, project, {});
    assertError(terms, 403, 'ERR_COMPANY_ONLY');
    assertError(await askCompany(world, project, 'POST', `jobs/${UNKNOWN}/retry`, {}), 403, 'ERR_COMPANY_ONLY');
  });

  /** Stores copies of a waiting batch, each of which waits since a microsecond later than the one before. */
  async function addWaiting(batchId: string, count: number): Promise<void> {
    await sql`
      insert into batches
      select copy.* from batches, generate_series(1, ${count}) as n,
        jsonb_populate_record(batches, jsonb_build_object(
          'id', gen_random_uuid(), 'batch_index', batch_index + n, 'idempotency_key', gen_random_uuid(),
          'company_asked_at', company_asked_at + n * interval '1 microsecond'
        )) as copy
      where batches.id = ${batchId}
    `.execute(world.db);
  }

  async function read(path: string) {
    return requireOk(await askCompany(world, operator, 'GET', path));
  }

  async function untilClosed({ apiKey }: TestProject, batchId: string): Promise<void> {
    await waitUntil(
      `the closing of ${batchId}`,
      async () => requireOk(await getBatch(world.url, apiKey, batchId, '?include=ledger')),
      ({ ledger }) => ledger.isComplete,
    );
  }
});

describe('a change by the company', () => {
  let world: GatedWorld;
  let operator: Operator;
  before(async () => {
    const opened = await openCompanyWorld();
    world = opened.world;
    [operator] = opened.operators;
  });
  after(() => world.stop());

  it('to manual approval also applies to an execution that was already requested', async () => {
    const project = await createProject(world);
    const sending = world.gate.hold('sendBundle');
    // The batch is still being set up; its execution waits for that.
    const batch = await openBatch(world, project, [burnPipeline()]);
    assert.equal((await executeSigned(world, project, batch, { prefer: 'wait=0' })).status, 202);
    const settings = await setMode(project, 'manual');
    assert.deepEqual([settings.approvalMode, settings.burnLimit], ['manual', '1000000']);
    sending.release();
    const waiting = () => askCompany(world, operator, 'GET', 'waiting');
    await waitUntil(
      'the batch to wait',
      async () => requireOk(await waiting()).batches,
      ({ length }) => length === 1,
    );
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'FINALIZED');
    world.gate.clear();
    requireOk(await approve(world, operator, batch.id));
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');

    await setMode(project, 'automatic');
    const { entries } = await readAudit(`?projectId=${project.projectId}&limit=3`);
    const limits = { burnLimit: '1000000', airdropLimit: '1000000' };
    assert.deepEqual(
      entries.map(({ action, before, after }: Record<string, unknown>) => [action, before, after]),
      [
        ['terms.changed', { ...limits, approvalMode: 'manual' }, { ...limits, approvalMode: 'automatic' }],
        ['batch.approved', undefined, undefined],
        ['terms.changed', { ...limits, approvalMode: 'automatic' }, { ...limits, approvalMode: 'manual' }],
      ],
    );
    const signed = await signTerms(world, operator.wallet, project, {
      from: settings.companyTerms,
      to: settings.companyTerms,
    });
    const answer = await askCompany(world, operator, 'PUT', `projects/${UNKNOWN}/terms`, signed);
    assertError(answer, 404, 'ERR_PROJECT_NOT_FOUND');
  });

  it('can run a job at once, and never expires a batch before its day', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    await enqueueLater({ type: 'close', batchId: batch.id, multisig: address(project.multisig) });
    const jobs = requireOk(await askCompany(world, operator, 'GET', 'jobs')).jobs;
    // Its setup is looked at again when it is final.
    const mine = jobs.filter(
      (job: { batchId?: string; type: string }) => job.batchId === batch.id && job.type === 'close',
    );
    assert.deepEqual(
      mine.map((job: Record<string, unknown>) => [
        job.type,
        job.state,
        job.batchIndex,
        job.batchStatus,
        job.projectId,
        'problem' in job,
      ]),
      [['close', 'waiting', String(batch.batchIndex), 'FINALIZED', project.projectId, false]],
    );
    await world.db
      .updateTable('batches')
      .set({ status: 'FAILED', ended_at: new Date() })
      .where('id', '=', batch.id)
      .execute();
    assert.deepEqual(requireOk(await retry(mine[0].id)), { jobId: mine[0].id });
    // It runs, and plans the next look at the chain.
    await waitUntil(
      'the job',
      () => findJobIds(world, 'close', batch.id),
      (open) => !open.includes(mine[0].id),
    );
    assertError(await retry(mine[0].id), 404, 'ERR_JOB_NOT_FOUND');
    assertError(await retry(UNKNOWN), 404, 'ERR_JOB_NOT_FOUND');

    const other = await setUpBatch(world, project, [burnPipeline()]);
    const [expiry] = await findJobIds(world, 'expire', other.id);
    assertError(await retry(expiry ?? ''), 404, 'ERR_JOB_NOT_FOUND', /waits for a batch to expire/);
    assert.equal(requireOk(await executeSigned(world, project, other)).status, 'EXECUTED');
    const [entry] = (await readAudit('?limit=1')).entries;
    assert.deepEqual(
      [entry.action, entry.subject, entry.batchId, entry.projectId, entry.actor],
      ['job.retried', mine[0].id, batch.id, project.projectId, operator.address],
    );
  });

  it('is in the audit log, newest first, page by page', async () => {
    for (const isPaused of [true, false, true, false]) await setPause(world, operator, 'all', isPaused);
    const first = await readAudit('?limit=3');
    const second = await readAudit(`?limit=3&cursor=${first.nextCursor}`);
    const actions = [...first.entries, ...second.entries].map(({ action }: { action: string }) => action);
    const wanted = ['company.resumed', 'company.paused', 'company.resumed', 'company.paused'];
    assert.deepEqual(actions.slice(0, 4), wanted);
    assertError(await askCompany(world, operator, 'GET', 'audit?cursor=nonsense'), 400, 'ERR_INVALID_REQUEST');
  });

  async function setMode(project: TestProject, approvalMode: 'manual' | 'automatic') {
    return requireOk(await changeTerms(world, operator, project, { approvalMode }));
  }

  function retry(jobId: string) {
    return askCompany(world, operator, 'POST', `jobs/${jobId}/retry`, {});
  }

  async function readAudit(query: string) {
    return requireOk(await askCompany(world, operator, 'GET', `audit${query}`));
  }

  async function enqueueLater(job: Job): Promise<void> {
    const jobs = await startJobs({
      poolConfig: { connectionString: world.databaseUrl },
      log: createLog('error'),
      metrics: createMetrics(),
    });
    await jobs.enqueue(world.db, job, { startAfter: new Date(Date.now() + 3_600_000) });
    await jobs.stop();
  }
});
