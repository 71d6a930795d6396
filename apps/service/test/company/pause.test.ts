import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  assertError,
  executeSigned,
  openBatch,
  readBatch,
  setUpBatch,
  waitForBatch,
  waitUntil,
} from '@flywheel/testing/batches';
import { readBatchOnChain, tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline, getBatch, heavyBurnPipeline, init, preview, send } from '@flywheel/testing/client';
import { WITH_BUNDLES } from '@flywheel/testing/cluster';
import { signResumption } from '@flywheel/testing/decisions';
import { ENGINES, type Engine, type GatedWorld, holdBundles, holdSends } from '@flywheel/testing/gate';
import { countOpenJobs } from '@flywheel/testing/jobs';
import { countLockWaits } from '@flywheel/testing/postgres';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { approve as approveByWallet, rotateWallet, waitForWithdrawal } from '@flywheel/testing/treasury';
import { generateKeyPairSigner } from '@solana/kit';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { requireUnpaused } from '../../src/store/company/pauses.ts';
import {
  approve,
  askCompany,
  createManualProject,
  type Operator,
  openCompanyWorld,
  reject,
  setPause,
} from './operators.ts';

/** More than two bundles hold. */
const MANY_PIPELINES = 36;

describe('a paused project', () => {
  let world: GatedWorld;
  let operator: Operator;
  before(async () => {
    const opened = await openCompanyWorld();
    world = opened.world;
    [operator] = opened.operators;
  });
  after(() => world.stop());

  it('rejects init and execute with the reason, and nothing else', async () => {
    const project = await createProject(world);
    const pipelines = [burnPipeline()];
    const batch = await setUpBatch(world, project, pipelines);
    const supply = await tokenSupply(world, project.mint);
    await setPause(world, operator, project, true, 'The mint’s authority changes hands.');
    const paused = /paused this project: The mint’s authority changes hands\./;
    assertError(await init(world.url, project.apiKey, [burnPipeline()]), 503, 'ERR_PAUSED', paused);
    assertError(await executeSigned(world, project, batch), 503, 'ERR_PAUSED', paused);
    assert.equal((await readBatch(world, project, batch.id)).status, 'FINALIZED');
    // Repeated requests still receive their first answer.
    requireOk(await init(world.url, project.apiKey, pipelines, batch.idempotencyKey));
    requireOk(await preview(world.url, project.apiKey, [burnPipeline()]));
    // Other projects are not affected.
    requireOk(await init(world.url, (await createProject(world)).apiKey, [burnPipeline()]));

    await setPause(world, operator, project, false);
    assert.equal(requireOk(await executeSigned(world, project, batch)).status, 'EXECUTED');
    assert.equal(await tokenSupply(world, project.mint), supply - 1_000_000n);
    await setPause(world, operator, project, true);
    assert.equal(requireOk(await executeSigned(world, project, batch)).status, 'EXECUTED');
    assert.deepEqual(await auditOf(project), [
      ['project.paused', 'The mint’s authority changes hands.'],
      ['project.resumed', null],
      ['project.paused', null],
    ]);
  });

  it('sets up no batch, finishes what is in flight, and continues at once after resume', WITH_BUNDLES, async () => {
    const project = await createProject(world);
    const sending = holdBundles(world, 'setup');
    const sent = await openBatch(world, project, [burnPipeline()]);
    await sending.reached;
    const waiting = await openBatch(world, project, [burnPipeline()]);
    await setPause(world, operator, project, true);
    sending.release();
    await waitForBatch(world, project, sent.id, ({ status }) => status === 'FINALIZED');
    await untilDone('setup', waiting.id);
    assert.equal((await readBatch(world, project, waiting.id)).status, 'AVAILABLE_TO_QUEUE');
    assert.deepEqual(await findBundles(world.db, waiting.id), []);
    await setPause(world, operator, project, false);
    await waitForBatch(world, project, waiting.id, ({ status }) => status === 'FINALIZED');
  });

  for (const engine of ENGINES) {
    it(
      `stops in the middle of an execution and continues there after resume, ${engine.name}`,
      engine.options,
      async () => {
        const opened = await openCompanyWorld(engine.environment);
        try {
          await pauseMidway(opened.world, opened.operators[0], engine);
        } finally {
          await opened.world.stop();
        }
      },
    );
  }

  it('keeps an operator’s decision: after resume an approval is executed and a rejection is closed', async () => {
    const project = await createManualProject(world);
    const [approved, rejected] = [
      await setUpBatch(world, project, [burnPipeline()]),
      await setUpBatch(world, project, [burnPipeline()]),
    ];
    for (const batch of [approved, rejected]) {
      assert.equal((await executeSigned(world, project, batch)).status, 202);
    }
    await setPause(world, operator, project, true);
    requireOk(await approve(world, operator, approved.id));
    requireOk(await reject(world, operator, rejected.id, 'Not this one.'));
    await untilDone('execute', approved.id);
    await untilDone('close', rejected.id);
    assert.equal((await readBatch(world, project, approved.id)).status, 'FINALIZED');
    assert.deepEqual(await findBundles(world.db, approved.id, 'execution'), []);
    assert.deepEqual(await findBundles(world.db, rejected.id, 'close'), []);

    await setPause(world, operator, project, false);
    await waitForBatch(world, project, approved.id, ({ status }) => status === 'EXECUTED');
    for (const { id } of [approved, rejected]) {
      await waitUntil(
        `the closing of ${id}`,
        async () => requireOk(await getBatch(world.url, project.apiKey, id, '?include=ledger')),
        ({ ledger }) => ledger.isComplete,
      );
    }
  });

  it('loses no approved batch to a rotation whose grace ends meanwhile', async () => {
    const project = await createManualProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    assert.equal((await executeSigned(world, project, batch)).status, 202);
    const { batchId: rotation } = requireOk(await rotateWallet(world, project, await generateKeyPairSigner()));
    await waitForWithdrawal(world, project, rotation, (seen) => seen.batch.status === 'FINALIZED');
    requireOk(await approveByWallet(world, project, rotation));
    await setPause(world, operator, project, true);
    for (const id of [batch.id, rotation]) requireOk(await approve(world, operator, id));
    // The ten minutes of its grace period are over.
    const longAgo = new Date(Date.now() - 3_600_000);
    const ready = { signed_at: longAgo, company_decided_at: longAgo };
    await world.db.updateTable('batches').set(ready).where('id', '=', rotation).execute();
    for (const id of [batch.id, rotation]) await untilDone('execute', id);
    assert.equal((await readBatch(world, project, batch.id)).status, 'FINALIZED');

    await setPause(world, operator, project, false);
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED' || status === 'FAILED');
    assert.equal((await readBatch(world, project, batch.id)).status, 'EXECUTED');
    await waitUntil(
      'the end of the rotation',
      () => world.db.selectFrom('batches').select('status').where('id', '=', rotation).executeTakeFirstOrThrow(),
      ({ status }) => status === 'EXECUTED',
    );
  });

  it('stays paused if it was paused again after an operator signed its resumption', async () => {
    const project = await createProject(world);
    const { projectId } = project;
    await setPause(world, operator, project, true, 'An upgrade.');
    const { pausedAt } = requireOk(
      await send(world.url, 'GET', `/console/api/projects/${projectId}`, { headers: { cookie: operator.cookie } }),
    );
    const signed = await signResumption(world, operator.wallet, projectId, new Date(pausedAt));
    await setPause(world, operator, project, true, 'A key is stolen.');
    const answer = await askCompany(world, operator, 'POST', `projects/${projectId}/resume`, signed);
    assertError(answer, 400, 'ERR_INVALID_REQUEST', /No pause began at/);
    assertError(await init(world.url, project.apiKey, [burnPipeline()]), 503, 'ERR_PAUSED', /A key is stolen/);
    await setPause(world, operator, project, false);
  });

  it('stays paused after all projects are paused and resumed', async () => {
    const [one, other] = [await createProject(world), await createProject(world)];
    const batch = await setUpBatch(world, other, [burnPipeline()]);
    await setPause(world, operator, one, true, 'This one.');
    await setPause(world, operator, 'all', true, 'An upgrade.');
    assertError(await init(world.url, other.apiKey, [burnPipeline()]), 503, 'ERR_PAUSED', /all projects: An upgrade\./);
    assertError(await init(world.url, one.apiKey, [burnPipeline()]), 503, 'ERR_PAUSED', /this project: This one\./);
    assertError(await executeSigned(world, other, batch), 503, 'ERR_PAUSED', /all projects/);
    await setPause(world, operator, 'all', false);
    assertError(await init(world.url, one.apiKey, [burnPipeline()]), 503, 'ERR_PAUSED', /this project/);
    assert.equal(requireOk(await executeSigned(world, other, batch)).status, 'EXECUTED');
  });

  it('can be paused only by operators of the company', async () => {
    const project = await createProject(world);
    for (const path of ['pause', `projects/${project.projectId}/pause`]) {
      assertError(await askCompany(world, project, 'PUT', path, {}), 403, 'ERR_COMPANY_ONLY');
    }
    const unknown = 'projects/6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d/pause';
    assertError(await askCompany(world, operator, 'PUT', unknown, {}), 404, 'ERR_PROJECT_NOT_FOUND');
    requireOk(await init(world.url, project.apiKey, [burnPipeline()]));
  });

  it('is paused as soon as the worker’s record of what it sends is committed, and not before', async () => {
    const project = await createProject(world);
    const { id: flywheelId } = await world.db
      .selectFrom('flywheels')
      .select('id')
      .where('project_id', '=', project.projectId)
      .executeTakeFirstOrThrow();
    let pausing: Promise<void> | undefined;
    await world.db.transaction().execute(async (trx) => {
      await requireUnpaused(trx, flywheelId);
      pausing = setPause(world, operator, project, true);
      await waitUntil(
        'the pause to wait',
        () => countLockWaits(world.db),
        (count) => count > 0,
      );
    });
    await pausing;
    await assert.rejects(requireUnpaused(world.db, flywheelId), /has been paused since/);
  });

  async function untilDone(type: string, batchId: string): Promise<void> {
    await waitUntil(
      `job ${type} of ${batchId}`,
      () => countOpenJobs(world, type, batchId),
      (count) => count === 0,
    );
  }

  async function auditOf({ projectId }: TestProject) {
    const rows = await world.db
      .selectFrom('audit_log')
      .select(['action', 'reason'])
      .where('project_id', '=', projectId)
      .where('action', 'in', ['project.paused', 'project.resumed'])
      .orderBy('id')
      .execute();
    return rows.map(({ action, reason }) => [action, reason]);
  }
});

async function pauseMidway(world: GatedWorld, operator: Operator, engine: Engine): Promise<void> {
  const project = await createProject(world);
  const pipelines = Array.from({ length: MANY_PIPELINES }, heavyBurnPipeline);
  const batch = await setUpBatch(world, project, pipelines);
  const supply = await tokenSupply(world, project.mint);
  const hold = holdSends(world, engine, project, batch.batchIndex);
  assert.equal((await executeSigned(world, project, batch, { prefer: 'wait=0' })).status, 202);
  await hold.reached;
  await setPause(world, operator, project, true);
  const recorded = await findBundles(world.db, batch.id, 'execution');
  hold.release();
  await waitUntil(
    'the execution to stop',
    () => countOpenJobs(world, 'execute', batch.id),
    (count) => count === 0,
  );
  const bundles = await findBundles(world.db, batch.id, 'execution');
  assert.deepEqual(
    bundles.map(({ id, state }) => [id, state]),
    recorded.map(({ id }) => [id, 'landed']),
  );
  const { batch: onChain } = await readBatchOnChain(world, project, batch.batchIndex);
  const executed = onChain.executedTransactionIndex;
  assert.ok(executed > 0 && executed < MANY_PIPELINES, `${executed} executed`);
  const stopped = await readBatch(world, project, batch.id);
  assert.deepEqual([stopped.status, stopped.executionError], ['FINALIZED', undefined]);
  assertError(await executeSigned(world, project, batch), 503, 'ERR_PAUSED');

  await setPause(world, operator, project, false);
  const { executeResult } = await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
  assert.equal(executeResult?.totalSuccessful, MANY_PIPELINES);
  assert.equal(await tokenSupply(world, project.mint), supply - BigInt(MANY_PIPELINES) * 1_000_000n);
}
