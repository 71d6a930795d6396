import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiError, isApiError } from '@flywheel/api';
import { waitUntil } from '@flywheel/testing/batches';
import { burnPipeline } from '@flywheel/testing/client';
import { startTestJobs } from '@flywheel/testing/jobs';
import { countLockWaits, openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import {
  DAY,
  endBatch,
  NOW,
  newBundle,
  newProject,
  RESERVED,
  randomAddress,
  randomNonce,
  storeBatch,
  storeNonces,
  storeProject,
} from '@flywheel/testing/records';
import { sql } from 'kysely';
import { findSetupError } from '../../src/batches/admission.ts';
import { createBatchIdempotently } from '../../src/batches/create-batch.ts';
import type { Deps } from '../../src/batches/deps.ts';
import { boundExposure } from '../../src/batches/exposure.ts';
import { compilePipelines } from '../../src/compile/compile-pipeline.ts';
import { parseConfig } from '../../src/config.ts';
import type { Project } from '../../src/model/project.ts';
import { insertBundle } from '../../src/store/batches/bundles.ts';
import { readCapUse } from '../../src/store/batches/cap-use.ts';
import {
  chargeBatch,
  type Exposure,
  limitReservation,
  readLamportsUse,
  readSetupUse,
  readUnadmittedUse,
  releaseExposure,
  setExposure,
} from '../../src/store/batches/exposure.ts';
import { lockFlywheel } from '../../src/store/batches/new-batches.ts';
import { recordSetupDay } from '../../src/store/company/totals.ts';
import { insertApiKey, revokeApiKey } from '../../src/store/projects/api-keys.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

const database = await openTestDatabase();
const { db } = database;
await storeNonces(db, 200);

const { fairUse, caps, maxTipLamports, maxComputeUnitPrice } = parseConfig({});
const prices = { maxTipLamports, maxComputeUnitPrice };
const PIPELINES = [{ type: 'A', payload: '{}', actions: [{ action: 'MEMO' as const, message: 'hello' }] }];

/** The exposure of a batch of `PIPELINES`, which is the same for every project. */
const ONE = await exposureOf(newProject());

test('50 simultaneous requests of a project lock no more than its cap', async () => {
  const project = await storeProject(db, { isAdmitted: true });
  const deps = depsWith({ lockedPerProjectLamports: 7n * ONE.lockedLamports + ONE.lockedLamports - 1n });
  const { created, errors } = await settle(Array.from({ length: 50 }, () => create(deps, project)));
  assert.equal(created, 7);
  for (const { context, message } of errors) {
    const { scope, kind, used, asked } = context.cap;
    assert.deepEqual(
      [scope, kind, used, asked],
      ['project', 'locked', ...text(7n * ONE.lockedLamports, ONE.lockedLamports)],
    );
    assert.match(message, /0\.\d+ of at most 0\.\d+ SOL .* needs 0\.\d+ SOL\. Execute or cancel open batches/);
  }
  assert.equal((await readLamportsUse(db, DAY, project.id)).lockedLamports, 7n * ONE.lockedLamports);
});

test('50 simultaneous requests of 25 projects that are not admitted spend no more than their cap', async () => {
  const strangers = await Promise.all(Array.from({ length: 25 }, () => storeProject(db)));
  const admitted = await storeProject(db, { isAdmitted: true });
  const deps = depsWith({ spentUnadmittedLamports: 10n * ONE.spendLamports });
  const [ofStrangers, ofAdmitted] = await Promise.all([
    settle([...strangers, ...strangers].map((project) => create(deps, project))),
    settle(Array.from({ length: 10 }, () => create(deps, admitted))),
  ]);
  assert.equal(ofStrangers.created, 10);
  for (const { context } of ofStrangers.errors) {
    assert.equal(context.cap.scope, 'unadmitted');
    assert.equal(context.cap.resetsAt, '2026-11-22T00:00:00.000Z');
    assert.equal(context.retryAfterSeconds, 12 * 3_600);
  }
  assert.deepEqual(ofAdmitted, { created: 10, errors: [] });
});

test('an admitted project does not wait for the lock of the others, also while both ask for more nonces', async (t) => {
  const [stranger, admitted] = [await storeProject(db), await storeProject(db, { isAdmitted: true })];
  // Each leases the last nonce of a share, and so asks for a refill.
  await Promise.all([stranger, admitted].map(storeOnlyNonce));
  const jobs = await startTestJobs(database);
  t.after(() => jobs.stop());
  const deps = { ...depsWith({}), jobs };
  const waiting = await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(x'63617073'::int)`.execute(trx); // that of migration 0048
    const attempt = create(deps, stranger);
    await waitUntil(
      'the stranger waits',
      () => countLockWaits(db),
      (count) => count === 1,
    );
    const created = await Promise.race([create(deps, admitted).then(() => true), sleep(60_000, false, { ref: false })]);
    assert.ok(created, 'the admitted project waits');
    return { attempt };
  });
  await waiting.attempt;
});

test('a stranger does not wait for what the process of another one does', async () => {
  const [busy, other] = [await storeProject(db), await storeProject(db)];
  const [isAsked, isDone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await storeOnlyNonce(busy);
  const deps = depsWith({});
  // It has leased the last nonce of its share, and so asks for a refill, which takes as long as the other one's request.
  const enqueue = () => {
    isAsked.resolve();
    return isDone.promise;
  };
  const slow = create({ ...deps, jobs: { ...deps.jobs, enqueue } }, busy);
  await isAsked.promise;
  const created = await Promise.race([create(deps, other).then(() => true), sleep(60_000, false, { ref: false })]);
  assert.ok(created, 'the other stranger waits');
  isDone.resolve();
  await slow;
});

test('the bounds of a batch are computed once, before anything is locked', async () => {
  let computed = 0;
  const counted = {
    maxComputeUnitPrice,
    get maxTipLamports() {
      computed += 1;
      return maxTipLamports;
    },
  };
  const attempt = await db.transaction().execute(async (trx) => {
    const stranger = await storeProject(db);
    await lockFlywheel(trx, stranger.flywheel.id);
    const created = create({ ...depsWith({}), prices: counted }, stranger);
    await waitUntil(
      'the request waits',
      () => countLockWaits(db),
      (count) => count === 1,
    );
    assert.equal(computed, 1);
    return { created };
  });
  await attempt.created;
  assert.equal(computed, 1);
});

test('what a batch is charged leaves its reservation and stays on the day', async () => {
  const project = await storeProject(db);
  const keyId = await storeKey(project);
  const { id } = await storeBatch(db, project, { keyId, exposure: { lockedLamports: 100n, spendLamports: 50n } });
  const use = async (day = DAY) => {
    const { lockedLamports, spentLamports } = await readLamportsUse(db, day, project.id);
    return [lockedLamports, spentLamports];
  };
  assert.deepEqual(await use(), [100n, 50n]);
  await chargeBatch(db, id, DAY, 20n);
  assert.deepEqual(await use(), [100n, 50n]);
  await chargeBatch(db, id, DAY, 40n);
  assert.deepEqual(await use(), [100n, 60n], 'more than was reserved is charged as well');
  assert.deepEqual(await use('2026-11-22'), [100n, 0n]);
  const { key } = await readUse(project, keyId);
  assert.equal(key?.spentLamports, 60n);
  assert.equal(await releaseExposure(db, id), true);
  assert.equal(await releaseExposure(db, id), false);
  assert.deepEqual(await use(), [0n, 60n]);
});

test('an ended batch keeps only what its closing may take', async () => {
  const project = await storeProject(db);
  const { id } = await storeBatch(db, project, { exposure: { lockedLamports: 100n, spendLamports: 50n } });
  for (const [limit, left] of [
    [60n, 50n],
    [30n, 30n],
    [40n, 30n],
  ] as const) {
    await limitReservation(db, id, limit);
    assert.equal((await readLamportsUse(db, DAY, project.id)).spentLamports, left);
  }
});

test('a setup is measured against the batches that have begun, not against those that wait', async () => {
  const project = await storeProject(db);
  const exposure = { lockedLamports: 100n, spendLamports: 50n };
  const [first] = [await storeBatch(db, project, { exposure }), await storeBatch(db, project, { exposure })];
  const { begun, own } = await readSetupUse(db, { batchId: first.id, projectId: project.id, day: DAY });
  assert.deepEqual([begun, own], [{ lockedLamports: 0n, spentLamports: 0n }, exposure]);
});

test('a batch counts for what a worker computes before its setup, whatever the row says, and not again afterwards', async () => {
  const project = await storeProject(db);
  const batch = await storeBatch(db, project, { exposure: { lockedLamports: 0n, spendLamports: 0n } });
  const use = () => readLamportsUse(db, DAY, project.id);
  await setExposure(db, batch.id, { lockedLamports: 100n, spendLamports: 50n });
  assert.deepEqual(await use(), { lockedLamports: 100n, spentLamports: 50n });
  assert.ok((await insertBundle(db, newBundle(batch))).id);
  await setExposure(db, batch.id, { lockedLamports: 1n, spendLamports: 1n });
  assert.deepEqual(await use(), { lockedLamports: 100n, spentLamports: 50n });
});

test('a batch that ends while its setup begins counts for nothing', async () => {
  const project = await storeProject(db);
  const batch = await storeBatch(db, project);
  await endBatch(db, batch.id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, NOW);
  await setExposure(db, batch.id, { lockedLamports: 100n, spendLamports: 50n });
  assert.deepEqual(await readLamportsUse(db, DAY, project.id), { lockedLamports: 0n, spentLamports: 0n });
});

test('a lower cap and a spent day stop a setup that has not begun, with the figures', async () => {
  const project = await storeProject(db, { isAdmitted: true });
  const exposure = { lockedLamports: 100n, spendLamports: 50n };
  const begun = await storeBatch(db, project, { exposure });
  const { id } = await insertBundle(db, newBundle(begun));
  assert.ok(id);
  const batch = await storeBatch(db, project, { exposure });
  const errorWith = async (changes: Partial<Deps['caps']>) =>
    (await findSetupError(depsWith(changes), db, project, batch))?.context.cap ?? null;
  assert.equal(await errorWith({ lockedPerProjectLamports: 200n }), null);
  const { kind, used, asked } = (await errorWith({ lockedPerProjectLamports: 199n })) ?? {};
  assert.deepEqual([kind, used, asked], ['locked', '100', '100']);
  await chargeBatch(db, batch.id, DAY, caps.spentPerProjectLamports);
  assert.equal((await errorWith({}))?.kind, 'spent', 'attempts that failed have spent the day');
});

test('simultaneous setups of projects that are not admitted lock no more than their cap, before anything is sent', async () => {
  const exposure = { lockedLamports: 10n ** 15n, spendLamports: 1n };
  const strangers = await Promise.all(Array.from({ length: 4 }, () => storeProject(db)));
  const batches = [];
  for (const project of strangers) batches.push({ project, batch: await storeBatch(db, project, { exposure }) });
  // Batches of other tests hold a part, far below what each of these needs.
  const deps = depsWith({ lockedPerProjectLamports: 10n ** 18n, lockedUnadmittedLamports: 25n * 10n ** 14n });
  const errors = await Promise.all(
    batches.map(({ project, batch }) =>
      db.transaction().execute(async (trx) => {
        const error = await findSetupError(deps, trx, project, batch);
        const { multisig } = project.flywheel;
        if (error === null) await recordSetupDay(trx, { multisig: multisig.address, ...batch }, DAY);
        return error;
      }),
    ),
  );
  assert.equal(errors.filter((error) => error === null).length, 2);
  for (const { batch } of batches) await releaseExposure(db, batch.id);
});

test('a key takes its share of lamports even alone, and of batches only beside another key', async () => {
  const project = await storeProject(db, { isAdmitted: true });
  const [thief, owner] = [await storeKey(project), await storeKey(project)];
  const rules = depsWith({}, { maxOpenBatches: 4, maxOpenPipelines: 100 });
  const { created, errors } = await settle(Array.from({ length: 6 }, () => create(rules, project, thief)));
  assert.equal(created, 2);
  assert.deepEqual(errors[0]?.context.cap, { scope: 'key', kind: 'batches', cap: '2', used: '2', asked: '1' });
  assert.equal((await settle([create(rules, project, owner)])).created, 1);

  await revokeApiKey(db, project.id, owner, NOW);
  assert.equal((await settle([create(rules, project, thief)])).created, 1, 'the only key may hold all of them');
  const locked = depsWith({ lockedPerProjectLamports: 8n * ONE.lockedLamports });
  const { errors: shares } = await settle([create(locked, project, thief), create(locked, project, thief)]);
  assert.equal(shares[0]?.context.cap.scope, 'key');
  assert.equal((await settle([create(locked, project, null)])).created, 1, 'the console has the whole cap');
});

test('a withdrawal is accepted beside batches that fill the caps, until it fills the room that is kept for it', async () => {
  const project = await storeProject(db);
  const { lockedLamports } = ONE;
  const deps = depsWith({ lockedPerProjectLamports: 4n * lockedLamports, lockedUnadmittedLamports: 1n });
  await storeBatch(db, project, { exposure: { lockedLamports: 4n * lockedLamports, spendLamports: 0n } });
  assert.equal((await settle([create(deps, project)])).created, 0);
  assert.equal((await settle([create(deps, project, null, 'withdrawal')])).created, 1);
  assert.equal((await settle([create(deps, project, null, 'withdrawal')])).created, 0);
});

test('withdrawals of a stranger do not take the room of other projects’ first withdrawals', async () => {
  const [stranger, other] = [await storeProject(db), await storeProject(db)];
  // Batches of other tests hold a part.
  const { spentLamports } = await readUnadmittedUse(db, DAY);
  const quarter = spentLamports + ONE.spendLamports;
  const deps = depsWith({ spentUnadmittedLamports: 4n * quarter });
  // Two withdrawals still fit into the room above the cap.
  const spendLamports = 5n * quarter - spentLamports - 2n * ONE.spendLamports;
  await storeBatch(db, stranger, { exposure: { lockedLamports: 0n, spendLamports } });
  const withdraw = (project: Project) => settle([create(deps, project, null, 'withdrawal')]);
  assert.equal((await withdraw(stranger)).created, 1);
  assert.equal((await withdraw(stranger)).errors[0]?.context.cap.scope, 'unadmitted');
  assert.equal((await withdraw(other)).created, 1);
});

test('a batch of a key that was revoked while it waited is refused', async () => {
  const project = await storeProject(db);
  const keyId = await storeKey(project);
  await revokeApiKey(db, project.id, keyId, NOW);
  await assert.rejects(create(depsWith({}), project, keyId), (error) => isApiError(error, 'ERR_UNAUTHORIZED'));
});

test('unapproved batches of a revoked key count neither as open nor for the day, also before they are cancelled', async () => {
  const dailyLimits = { burnBaseUnits: 2_000_000n, airdropBaseUnits: 0n };
  const project = await storeProject(db, { isAdmitted: true, dailyLimits });
  const thief = await storeKey(project);
  const full = depsWith({}, { maxOpenBatches: 2, maxOpenPipelines: 2 });
  const burn = (deps: Deps, keyId: string | null) => create(deps, project, keyId, 'pipelines', [burnPipeline(1)]);
  for (let i = 0; i < 2; i += 1) await burn(full, thief);
  await assert.rejects(burn(full, null), (error) => isApiError(error, 'ERR_TOO_MANY_OPEN_BATCHES'));
  await revokeApiKey(db, project.id, thief, NOW);
  for (let i = 0; i < 2; i += 1) await burn(full, null);
  await assert.rejects(burn(full, null), (error) => isApiError(error, 'ERR_TOO_MANY_OPEN_BATCHES'));
  await assert.rejects(burn(depsWith({}), null), (error) => {
    if (!isApiError(error, 'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED')) return false;
    return error.context.cap === '2' && error.context.used === '2';
  });
});

function depsWith(changes: Partial<Deps['caps']>, counts: Deps['fairUse'] = fairUse): Deps {
  const used: Partial<Deps> = {
    db,
    jobs: { enqueue: async () => undefined, enqueueAll: async () => undefined },
    clock: { now: () => NOW, sleep: async () => undefined },
    fairUse: counts,
    caps: { ...caps, ...changes },
    prices,
    metrics: createMetrics(),
    batchExpirySeconds: 3_600,
    log: quietLog,
    // Nonces are enough for all.
    nonceQueue: {
      enter: () => {
        let turns = 0;
        return {
          turn: async () => assert.ok(++turns === 1, 'no nonce'),
          [Symbol.dispose]: () => undefined,
        };
      },
      count: () => 0,
      stop: async () => undefined,
    },
  };
  return used as Deps; // the creation of a batch uses nothing else
}

async function create(
  deps: Deps,
  project: Project,
  keyId: string | null = null,
  kind: 'pipelines' | 'withdrawal' = 'pipelines',
  requested: Parameters<typeof compilePipelines>[0] = PIPELINES,
): Promise<unknown> {
  const key = { project, kind, idempotencyKey: randomUUID(), requestHash: new Uint8Array(32) } as const;
  const pipelines = await compilePipelines(requested, project);
  return createBatchIdempotently(deps, key, { keyId, pipelines, audit: null });
}

async function settle(attempts: readonly Promise<unknown>[]) {
  const settled = await Promise.allSettled(attempts);
  const errors = settled.flatMap((attempt): ApiError<'ERR_CAP_REACHED'>[] => {
    if (attempt.status === 'fulfilled') return [];
    if (isApiError(attempt.reason, 'ERR_CAP_REACHED')) return [attempt.reason];
    throw attempt.reason;
  });
  return { created: settled.length - errors.length, errors };
}

async function exposureOf(project: Project): Promise<Exposure> {
  const pipelines = await compilePipelines(PIPELINES, project);
  return boundExposure(prices, project.flywheel.multisig, { kind: 'pipelines', pipelines });
}

function readUse(project: Project, keyId: string) {
  const { address: multisig } = project.flywheel.multisig;
  const asked = { projectId: project.id, multisig, kind: 'pipelines', keyId, proofHashes: [], uses: [] } as const;
  return readCapUse(db, { ...asked, isAdmitted: false, day: DAY, now: NOW });
}

/** Stores the only nonce of a project's share. */
async function storeOnlyNonce({ flywheel }: Project): Promise<void> {
  const { address: share, operator: authority } = flywheel.multisig;
  const nonce = { address: randomAddress(), seed: randomUUID(), value: randomNonce(), share, authority };
  const row = { ...nonce, state: 'available' as const };
  await db.insertInto('nonces').values(row).execute();
}

async function storeKey({ id: projectId }: Project): Promise<string> {
  const id = randomUUID();
  const prefix = randomAddress().slice(0, 12);
  const key = { id, projectId, prefix, hash: new Uint8Array(32), name: null, scopes: new Set(['burn'] as const) };
  await insertApiKey(db, { ...key, createdAt: NOW, expiresAt: null });
  return id;
}

function text(...amounts: readonly bigint[]): string[] {
  return amounts.map(String);
}
