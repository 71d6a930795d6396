import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { isApiError } from '@flywheel/api';
import { assertError, executeSigned, openBatch, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { burnPipeline, heavyBurnPipeline, init, send } from '@flywheel/testing/client';
import { WITH_BUNDLES } from '@flywheel/testing/cluster';
import { ENGINES, type GatedWorld, holdBundles, holdSends, openGatedWorld } from '@flywheel/testing/gate';
import { makeDue } from '@flywheel/testing/jobs';
import { associatedTokenAccount, createOwnMint, freeze, mintTo } from '@flywheel/testing/mints';
import { quietLog } from '@flywheel/testing/postgres';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { newProject } from '@flywheel/testing/records';
import { withdraw } from '@flywheel/testing/treasury';
import { address } from '@solana/kit';
import { createBatchIdempotently } from '../../src/batches/create-batch.ts';
import type { Deps } from '../../src/batches/deps.ts';
import { createNonceQueue } from '../../src/batches/nonce-queue.ts';
import { systemClock } from '../../src/clock.ts';
import { compilePipelines } from '../../src/compile/compile-pipeline.ts';
import { parseConfig } from '../../src/config.ts';
import { utcDay } from '../../src/model/clock.ts';
import { readLamportsUse, readUnadmittedUse } from '../../src/store/batches/exposure.ts';
import { insertAdmission } from '../../src/store/company/changes.ts';
import { findProject, insertProject } from '../../src/store/projects/projects.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

/** What all strangers together may lock, a few batches, and spend in a day. */
const SHARED_LAMPORTS = 300_000_000n;
const STRANGERS = 200;
/** Strangers who attack on chain; the others only ask for batches. */
const ATTACKERS = 2;
/** More pipelines than one bundle executes, so that the approval lands before the vault is frozen. */
const PIPELINES = 12;
const [ENGINE] = ENGINES;

let world: GatedWorld;
before(async () => {
  world = await openGatedWorld({ MAX_LOCKED_LAMPORTS_UNADMITTED: String(SHARED_LAMPORTS) });
});
after(() => world.stop());

const today = () => utcDay(new Date());
const operatorLamports = async () => (await world.rpc.getBalance(world.operator.address).send()).value as bigint;

describe('200 strangers who freeze their vaults once the approval is on chain', ENGINE.options, () => {
  it('take no more of the operator’s balance than their cap, and admitted projects do not notice', async (t) => {
    const admitted = await createProject(world);
    await admit(admitted);
    const free = await countFreeNonces();
    const balance = await operatorLamports();
    for (let i = 0; i < ATTACKERS; i += 1) await attack();
    await waitUntil('the free nonces', countFreeNonces, (count) => count >= free);
    const used = await readUnadmittedUse(world.db, today());
    const lost = balance - (await operatorLamports());
    t.diagnostic(
      `${ATTACKERS} attacks took ${lost} lamports; ${used.lockedLamports} locked, ${used.spentLamports} spent`,
    );
    assert.ok(lost > used.lockedLamports / 2n, 'the attack works');
    assert.ok(lost <= used.lockedLamports + used.spentLamports, 'the caps count all that is gone');

    const { created, refused } = await askForBatches(STRANGERS - ATTACKERS);
    assert.ok(created > 0 && refused > 100, `${created} created, ${refused} refused`);
    const full = await readUnadmittedUse(world.db, today());
    assert.ok(full.lockedLamports <= SHARED_LAMPORTS && full.spentLamports <= SHARED_LAMPORTS);

    const stranger = await createProject(world);
    const pipelines = Array.from({ length: PIPELINES }, heavyBurnPipeline);
    const answer = await init(world.url, stranger.apiKey, pipelines);
    assertError(answer, 429, 'ERR_CAP_REACHED', /of at most 0\.3 SOL .* ask the company to admit this project/);
    const { scope, kind, cap, used: taken } = answer.body.cap;
    assert.deepEqual([scope, kind, cap, taken], ['unadmitted', 'locked', '300000000', String(full.lockedLamports)]);
    const preview = await send(world.url, 'POST', '/v1/flywheel/batch/preview', {
      key: stranger.apiKey,
      body: { pipelines },
    });
    assert.ok(requireOk(preview).problems.some(({ message }: { message: string }) => message === answer.body.message));
    requireOk(await withdraw(world, stranger, { asset: 'SOL', to: stranger.wallet.address, amount: '0.01' }));

    const batch = await setUpBatch(world, admitted, [burnPipeline()]);
    requireOk(await executeSigned(world, admitted, batch));
    await waitForBatch(world, admitted, batch.id, ({ status }) => status === 'EXECUTED');
  });
});

describe('a setup that finds a cap of its project full', () => {
  it(
    'waits and says for what, and goes on when rent comes back; the batch that holds it is executed meanwhile',
    WITH_BUNDLES,
    async () => {
      const project = await createProject(world);
      await admit(project);
      const bundles = holdBundles(world, 'setup');
      const [first, second] = [
        await openBatch(world, project, [burnPipeline()]),
        await openBatch(world, project, [burnPipeline()]),
      ];
      await bundles.reached;
      // A batch of thousands of pipelines would lock this much.
      const lockedLamports = parseConfig(world.environment).caps.lockedPerProjectLamports;
      await world.db
        .updateTable('batches')
        .set({ locked_lamports: lockedLamports })
        .where('id', '=', first.id)
        .execute();
      bundles.release();

      const reason = /lock 20 of at most 20 SOL .* this batch needs 0\.\d+ SOL\. .* It is tried again every 15 s\.$/;
      const isHeld = (message = '') => reason.test(message);
      const held = await waitForBatch(world, project, second.id, (seen) => isHeld(seen.executionError?.message));
      assert.equal(held.status, 'AVAILABLE_TO_QUEUE');
      const path = `/console/api/projects/${project.projectId}/batches/${second.id}`;
      const shown = requireOk(await send(world.url, 'GET', path, { headers: { cookie: project.cookie } }));
      assert.deepEqual([shown.waitsFor, isHeld(shown.failure.message)], ['setup', true]);
      assert.match(shown.failure.remedy, /continues by itself when the cause is gone/);

      requireOk(await executeSigned(world, project, first, { prefer: 'wait=60' }));
      await waitUntil(
        'the rent of the first batch',
        () => readLamportsUse(world.db, today(), project.projectId),
        (use) => use.lockedLamports < lockedLamports,
      );
      await makeDue(world, 'setup', second.id);
      const { executionError } = await waitForBatch(world, project, second.id, ({ status }) => status === 'FINALIZED');
      assert.equal(executionError, undefined);
    },
  );
});

describe('a thief of an API key who holds every cap full', () => {
  const [OPEN, SHARE] = [4, 2];

  it('cannot lock the owner out: another key works at once, and after the revocation every cap is free', async () => {
    const project = await createProject(world, { burnLimit: String(OPEN) });
    await admit(project);
    const one = await exposureOfOne(project);
    await world.restart({
      ...world.gate.environment,
      MAX_OPEN_BATCHES: String(OPEN),
      MAX_OPEN_PIPELINES: String(OPEN),
      MAX_LOCKED_LAMPORTS_PER_PROJECT: String(one.lockedLamports * BigInt(OPEN)),
      // With what the first batch has cost.
      MAX_SPENT_LAMPORTS_PER_PROJECT: String(one.spentLamports * BigInt(OPEN + 1)),
    });
    const thief = await createKey(project);
    for (let i = 0; i < SHARE; i += 1) requireOk(await init(world.url, thief.apiKey, [burnPipeline()]));
    const preview = await send(world.url, 'POST', '/v1/flywheel/batch/preview', {
      key: thief.apiKey,
      body: { pipelines: [burnPipeline()] },
    });
    const reached = requireOk(preview).problems.filter(({ code }: { code: string }) => code === 'ERR_CAP_REACHED');
    assert.equal(reached.length, 5, 'locked, spent, batches, pipelines, burned');
    assertError(await init(world.url, thief.apiKey, [burnPipeline()]), 429, 'ERR_CAP_REACHED', /this API key/);
    requireOk(await init(world.url, project.apiKey, [burnPipeline()]));

    assert.equal(requireOk(await revoke(project, thief.keyId)).cancelledBatches, SHARE);
    requireOk(await init(world.url, project.apiKey, [burnPipeline()]));
    assert.equal(requireOk(await revoke(project, thief.keyId)).cancelledBatches, 0);
    await waitUntil(
      'the return of what the thief locked',
      () => readLamportsUse(world.db, today(), project.projectId),
      ({ lockedLamports }) => lockedLamports === one.lockedLamports * 2n,
    );
  });

  it('cannot lock the owner out of a project whose only key it has, even while no node answers', async () => {
    const project = await createProject(world, { burnLimit: String(SHARE) });
    await admit(project);
    const batches = [];
    for (let i = 0; i < SHARE; i += 1) batches.push(await setUpBatch(world, project, [burnPipeline()]));
    const keys = world.db.selectFrom('api_keys').select('id').where('project_id', '=', project.projectId);
    const { id: keyId } = await keys.executeTakeFirstOrThrow();
    const node = world.gate.hold('getMultipleAccounts');
    const revokedAtMs = performance.now();
    assert.equal(requireOk(await revoke(project, keyId)).cancelledBatches, SHARE);
    const { apiKey } = await createKey(project);
    requireOk(await init(world.url, apiKey, [burnPipeline()]));
    // A request that waited for the node would give up after 40 s.
    assert.ok(performance.now() - revokedAtMs < 30_000);
    node.release();
    for (const { id } of batches) {
      await waitUntil(
        'the cancellation',
        () => world.db.selectFrom('batches').select('end_cause').where('id', '=', id).executeTakeFirstOrThrow(),
        ({ end_cause }) => end_cause === 'cancelled',
      );
    }
  });

  function revoke({ projectId, cookie }: TestProject, keyId: string) {
    const options = { headers: { cookie, 'content-type': 'application/json' } };
    return send(world.url, 'DELETE', `/console/api/projects/${projectId}/keys/${keyId}`, options);
  }

  async function exposureOfOne(project: TestProject) {
    const { batch } = requireOk(await init(world.url, project.apiKey, [burnPipeline()]));
    const one = await readLamportsUse(world.db, today(), project.projectId);
    const cancelled = { key: project.apiKey, body: {} };
    requireOk(await send(world.url, 'POST', `/v1/flywheel/batch/${batch.id}/cancel`, cancelled));
    await waitUntil(
      'the closing',
      () => readLamportsUse(world.db, today(), project.projectId),
      ({ lockedLamports }) => lockedLamports === 0n,
    );
    return one;
  }
});

/** Freezes the vault of a new project while its approved batch is executed. */
async function attack(): Promise<void> {
  const mint = await createOwnMint(world, false);
  const project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
  const vault = address(project.vaultAddress);
  await mintTo(world, mint, vault, 10n ** 9n);
  const batch = await setUpBatch(world, project, Array.from({ length: PIPELINES }, heavyBurnPipeline));
  const hold = holdSends(world, ENGINE, project, batch.batchIndex);
  const answer = executeSigned(world, project, batch, { prefer: 'wait=60' });
  await hold.reached;
  await freeze(world, mint, await associatedTokenAccount(mint, vault));
  hold.release();
  requireOk(await answer);
  await waitForBatch(world, project, batch.id, ({ status }) => status === 'FAILED');
}

/** Lets strangers, whose projects only exist in the database, ask for a batch each, all at once. */
async function askForBatches(count: number) {
  const { address: operator } = world.operator;
  const projects = Array.from({ length: count }, () => {
    const project = newProject({ dailyLimits: { burnBaseUnits: 10n ** 9n, airdropBaseUnits: 0n } });
    const multisig = { ...project.flywheel.multisig, operator, rentCollector: operator };
    return { ...project, flywheel: { ...project.flywheel, multisig } };
  });
  for (const project of projects) await insertProject(world.db, project, new Date());
  const [first] = projects;
  assert.ok(first);
  const pipelines = await compilePipelines(Array.from({ length: PIPELINES }, heavyBurnPipeline), first);
  const { fairUse, caps, maxTipLamports, maxComputeUnitPrice } = parseConfig(world.environment);
  const { db } = world;
  const jobs = { enqueue: async () => undefined, enqueueAll: async () => undefined };
  const poolConfig = { connectionString: world.databaseUrl };
  const used: Partial<Deps> = {
    ...{ db, jobs, clock: systemClock, metrics: createMetrics() },
    nonceQueue: createNonceQueue({ db, sessionConfig: poolConfig, jobs, clock: systemClock, log: quietLog }),
    ...{ fairUse, caps, log: quietLog, batchExpirySeconds: 3_600 },
    prices: { maxTipLamports, maxComputeUnitPrice },
  };
  const deps = used as Deps; // the creation of a batch uses nothing else
  const attempts = await Promise.allSettled(
    projects.map((project) => {
      const key = {
        project,
        kind: 'pipelines',
        idempotencyKey: randomUUID(),
        requestHash: new Uint8Array(32),
      } as const;
      return createBatchIdempotently(deps, key, { keyId: null, pipelines, audit: null });
    }),
  );
  const refused = attempts.filter((each) => each.status === 'rejected' && isApiError(each.reason, 'ERR_CAP_REACHED'));
  for (const each of attempts) {
    if (each.status === 'rejected' && !isApiError(each.reason, 'ERR_CAP_REACHED')) throw each.reason;
  }
  return { created: attempts.filter(({ status }) => status === 'fulfilled').length, refused: refused.length };
}

async function countFreeNonces(): Promise<number> {
  const nonces = world.db.selectFrom('nonces').where('state', '=', 'available');
  const { count } = await nonces.select((eb) => eb.fn.countAll<bigint>().as('count')).executeTakeFirstOrThrow();
  return Number(count);
}

async function admit({ projectId }: TestProject): Promise<void> {
  const project = await findProject(world.db, projectId);
  assert.ok(project !== null && typeof project !== 'string');
  await insertAdmission(world.db, project.flywheel.multisig.address, new Date());
}

async function createKey({
  projectId,
  cookie,
}: TestProject): Promise<{ readonly keyId: string; readonly apiKey: string }> {
  return requireOk(
    await send(world.url, 'POST', `/console/api/projects/${projectId}/keys`, { headers: { cookie }, body: {} }),
  );
}
