import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, it, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { waitUntil } from '@flywheel/testing/batches';
import { realClock } from '@flywheel/testing/clock';
import { openDatabaseProxy } from '@flywheel/testing/database-proxy';
import { countLockWaits, openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import {
  later,
  NOW,
  newProject,
  randomAddress,
  storeBatch,
  storeNonces,
  storeProject,
} from '@flywheel/testing/records';
import type { FoundKeyHolder, GivenKey } from '../../src/model/key-holder.ts';
import type { Project } from '../../src/model/project.ts';
import type { RateLimits } from '../../src/model/rate-limit.ts';
import { findBatchWithoutPipelines } from '../../src/store/batches/batches.ts';
import { closeDb, type Db, openDb, ping } from '../../src/store/db.ts';
import { createKeyHolderFinder, findKeyHolders } from '../../src/store/key-holders.ts';
import {
  type ApiKeyRecord,
  findApiKey,
  findApiKeys,
  insertApiKey,
  replaceApiKey,
  revokeApiKey,
  touchApiKey,
} from '../../src/store/projects/api-keys.ts';
import { findProject } from '../../src/store/projects/projects.ts';

const { db, poolConfig, url } = await openTestDatabase();
const LIMIT = { requests: 5, seconds: 7 };
const LIMITS = { get: LIMIT } as RateLimits['limits'];

test('an API key is found by its prefix, as it was stored', async () => {
  const key = await storeKey(await storeProject(db), { expiresAt: later(1_000), scopes: new Set(['burn']) });
  const { id, projectId, hash, scopes, expiresAt } = key;
  assert.deepEqual(await findApiKey(db, key.prefix), {
    id,
    projectId,
    hash,
    scopes,
    expiresAt,
    revokedAt: null,
    lastUsedAt: null,
  });
  assert.equal(await findApiKey(db, 'fwk_unknown1'), null);
});

test('a prefix belongs to one API key', async () => {
  const project = await storeProject(db);
  const { prefix } = await storeKey(project);
  await assert.rejects(storeKey(project, { prefix }), /api_keys_prefix_key/);
});

test('a revoked API key keeps the date of its first revocation', async () => {
  const project = await storeProject(db);
  const key = await storeKey(project);
  assert.equal(await revokeApiKey(db, project.id, key.id, NOW), true);
  assert.equal(await revokeApiKey(db, project.id, key.id, later(5_000)), false);
  assert.deepEqual((await findApiKey(db, key.prefix))?.revokedAt, NOW);
});

test('another project’s API key cannot be revoked', async () => {
  const key = await storeKey(await storeProject(db));
  const stranger = await storeProject(db);
  assert.equal(await revokeApiKey(db, stranger.id, key.id, NOW), false);
  assert.equal((await findApiKey(db, key.prefix))?.revokedAt, null);
});

test('another project’s API key cannot be replaced', async () => {
  const [key, own] = [await storeKey(await storeProject(db)), await storeProject(db)];
  const { id: replacedBy } = await storeKey(own);
  const request = { projectId: own.id, keyId: key.id, replacedBy, endsAt: NOW, now: NOW };
  assert.equal(await replaceApiKey(db, request), null);
  assert.deepEqual((await findApiKey(db, key.prefix))?.expiresAt, key.expiresAt);
});

test('the list of a project’s API keys has all that work, and the last ones that ended', async () => {
  const project = await storeProject(db);
  const oldest = await storeKey(project, { createdAt: later(-9_000) });
  const expired = await storeKey(project, { createdAt: later(-8_000), expiresAt: later(-10) });
  const revoked = await storeKey(project, { createdAt: later(-7_000), expiresAt: later(5_000) });
  await revokeApiKey(db, project.id, revoked.id, later(-20));
  const forgotten = await storeKey(project, { createdAt: later(-6_000), expiresAt: later(-30) });
  await revokeApiKey(db, project.id, forgotten.id, NOW);
  const expiring = await storeKey(project, { createdAt: later(-5_000), expiresAt: later(1) });
  const listed = await findApiKeys(db, project.id, { now: NOW, maxEnded: 2 });
  assert.deepEqual(
    listed.map(({ id }) => id),
    [expiring, revoked, expired, oldest].map(({ id }) => id),
  );
});

test('the last use of an API key is its latest use', async () => {
  const key = await storeKey(await storeProject(db));
  assert.equal((await findApiKey(db, key.prefix))?.lastUsedAt, null);
  await touchApiKey(db, key.id, later(1));
  await touchApiKey(db, key.id, NOW);
  assert.deepEqual((await findApiKey(db, key.prefix))?.lastUsedAt, later(1));
});

test('an API key is found with its project, and its requests are counted exactly over two pools', async () => {
  const project = await storeProject(db);
  const key = await storeKey(project, { scopes: new Set(['burn']) });
  const other = openDb(poolConfig, quietLog);
  const found = await Promise.all(Array.from({ length: 20 }, (_, i) => find(key, {}, i % 2 === 0 ? db : other)));
  await closeDb(other);
  assert.equal(found.filter((holder) => holder?.limit?.allowed).length, LIMIT.requests);
  assert.deepEqual(found[0]?.key, await findApiKey(db, key.prefix));
  assert.deepEqual(found[0]?.project, await findProject(db, project.id));
  const after = await find(key, { now: later(7_000) });
  assert.deepEqual(after?.limit, { allowed: true, remaining: 4, resetSeconds: 7 });
});

test('batches are read with the key: as they are, of its own project, and of pipelines only', async () => {
  const [project, stranger] = [await storeProject(db), await storeProject(db)];
  const key = await storeKey(project);
  await storeNonces(db, 4);
  const [one, two] = [await storeBatch(db, project), await storeBatch(db, project)];
  const withdrawal = await storeBatch(db, project, { kind: 'withdrawal' });
  const foreign = await storeBatch(db, stranger);
  const batchIds = [two.id.toUpperCase(), withdrawal.id, one.id, null, foreign.id, two.id, randomUUID()];
  const found = await findKeyHolders(db, key, { name: 'get', limit: LIMIT, now: NOW, batchIds });
  assert.deepEqual(
    found.map((holder) => holder?.batch?.id ?? null),
    [two.id, null, one.id, null, null, two.id, null],
  );
  assert.deepEqual(found[2]?.batch, await findBatchWithoutPipelines(db, one.id));
});

test('a key is found without the proof types of its project, which is read once for many batches', async (context) => {
  const payloadSchema = { description: 'x'.repeat(100_000) };
  const proofTypes = new Map([['WATCH_AD', { type: 'WATCH_AD', payloadSchema }]]);
  const { flywheel } = newProject();
  const lookupTable = { address: randomAddress(), addresses: Array.from({ length: 256 }, randomAddress) };
  const multisig = { ...flywheel.multisig, lookupTable };
  const project = await storeProject(db, { proofTypes, flywheel: { ...flywheel, multisig } });
  const key = await storeKey(project);
  await storeNonces(db, 5);
  const batchIds: string[] = [];
  for (let i = 0; i < 5; i += 1) batchIds.push((await storeBatch(db, project)).id);
  const proxy = await openDatabaseProxy(url);
  context.after(() => proxy.stop());
  const throughProxy = openDb({ connectionString: proxy.url }, quietLog);
  const found = await findKeyHolders(throughProxy, key, { name: 'get', limit: LIMIT, now: NOW, batchIds });
  assert.deepEqual(
    found.map((holder) => holder?.batch?.id),
    batchIds,
  );
  assert.ok(found.every((holder) => isDeepStrictEqual(holder?.project, project)));
  const once = lookupTable.addresses.join().length;
  assert.ok(proxy.counts().bytes < 3 * once, `${proxy.counts().bytes} bytes, of which the project has ${once}`);
});

test('a request is not counted for a wrong, revoked or expired key, or without a project', async () => {
  const project = await storeProject(db);
  const key = await storeKey(project);
  assert.equal((await find({ ...key, hash: new Uint8Array(32) }))?.limit, null);
  assert.equal((await find(key))?.limit?.remaining, 4);
  await revokeApiKey(db, project.id, key.id, NOW);
  assert.equal((await find(key))?.limit, null);
  const expired = await storeKey(project, { expiresAt: NOW });
  assert.equal((await find(expired))?.limit, null);

  const emptied = await storeProject(db);
  const left = await storeKey(emptied);
  await db.updateTable('tokens').set({ archived_at: NOW }).where('project_id', '=', emptied.id).execute();
  const found = await find(left);
  assert.deepEqual([found?.key.id, found?.project, found?.limit], [left.id, 'token-gone', null]);
  assert.equal(await find({ prefix: 'fwk_unknown1', hash: left.hash }), null);
});

describe('simultaneous requests of one API key', () => {
  it('wait for the first one, and are then counted by one statement, in their order', async () => {
    const key = await storeKey(await storeProject(db));
    const finder = createFinder(db);
    await finder(key, GET);
    const count = await blockCount(key);
    const found = Array.from({ length: 6 }, () => finder(key, GET));
    const other = finder(await storeKey(await storeProject(db)), GET);
    assert.equal((await other)?.limit?.remaining, 4); // no other key waits
    await waitUntil(
      'a wait for the count',
      () => countLockWaits(db),
      (count) => count > 0,
    );
    assert.equal(await countLockWaits(db), 1);
    await count.release();
    const limits = (await Promise.all(found)).map((holder) => holder?.limit);
    assert.deepEqual(
      limits.map((limit) => [limit?.remaining, limit?.allowed]),
      [[3, true], [2, true], [1, true], [0, true], [0, false], [0, false]], // biome-ignore format: one line
    );
  });

  it('that come with the answer of the last one are served', { timeout: 10_000 }, async () => {
    const key = await storeKey(await storeProject(db));
    const finder = createFinder(db);
    const remaining = [(await finder(key, GET))?.limit?.remaining, (await finder(key, GET))?.limit?.remaining];
    assert.deepEqual(remaining, [4, 3]);
  });

  it('see a revocation that came before them', async () => {
    const project = await storeProject(db);
    const key = await storeKey(project);
    const finder = createFinder(db);
    await finder(key, GET);
    const count = await blockCount(key);
    const before = finder(key, GET);
    await waitUntil(
      'a wait for the count',
      () => countLockWaits(db),
      (count) => count > 0,
    );
    await revokeApiKey(db, project.id, key.id, NOW);
    const after = finder(key, GET);
    await count.release();
    assert.deepEqual([(await before)?.key.revokedAt, (await before)?.limit?.remaining], [null, 3]);
    assert.deepEqual([(await after)?.key.revokedAt, (await after)?.limit], [NOW, null]);
  });

  it('are served after the failure of those before them', async () => {
    const key = await storeKey(await storeProject(db));
    const impatient = openDb({ ...poolConfig, statement_timeout: 300 }, quietLog);
    const finder = createFinder(impatient);
    await finder(key, GET);
    const count = await blockCount(key);
    const first = assert.rejects(finder(key, GET), /statement timeout/);
    const second = finder(key, GET);
    await first;
    await count.release();
    assert.equal((await second)?.limit?.remaining, 3);
    await closeDb(impatient);
  });

  it('go on if the connection of those before them has died', { timeout: 10_000 }, async (context) => {
    const key = await storeKey(await storeProject(db));
    const proxy = await openDatabaseProxy(url);
    context.after(() => proxy.stop());
    const throughProxy = openDb({ connectionString: proxy.url }, quietLog);
    const patience = Promise.withResolvers<void>();
    const finder = createKeyHolderFinder({
      db: throughProxy,
      limits: LIMITS,
      clock: { now: () => NOW, sleep: () => patience.promise },
    });
    await ping(throughProxy);
    proxy.fallSilent();
    const lost = assert.rejects(finder(key, GET));
    const next = finder(key, GET);
    proxy.restore(); // for new connections
    patience.resolve();
    assert.equal((await next)?.limit?.remaining, 4);
    proxy.cut();
    await lost;
  });

  it('with a wrong key are not served with those of the right one', async () => {
    const key = await storeKey(await storeProject(db));
    const finder = createFinder(db);
    const wrong = { ...key, hash: new Uint8Array(32) };
    const found = await Promise.all([key, wrong, key, wrong].map((given) => finder(given, GET)));
    assert.deepEqual(
      found.map((holder) => holder?.limit?.remaining),
      [4, undefined, 3, undefined],
    );
  });
});

const GET = { name: 'get', batchId: null } as const;

function createFinder(on: Db) {
  return createKeyHolderFinder({ db: on, limits: LIMITS, clock: { ...realClock, now: () => NOW } });
}

/** Locks the count of a key, as another process does while it counts. */
async function blockCount({ id }: ApiKeyRecord): Promise<{ release(): Promise<void> }> {
  const trx = await db.startTransaction().execute();
  await trx
    .selectFrom('rate_limits')
    .select('key')
    .where('key', '=', `get:${id}`)
    .forUpdate()
    .executeTakeFirstOrThrow();
  return { release: async () => void (await trx.commit().execute()) };
}

async function find(
  key: GivenKey,
  { now = NOW, batchId = null }: { readonly now?: Date; readonly batchId?: string | null } = {},
  on = db,
): Promise<FoundKeyHolder | null> {
  const [found] = await findKeyHolders(on, key, { name: 'get', limit: LIMIT, now, batchIds: [batchId] });
  return found ?? null;
}

async function storeKey(project: Project, changes: Partial<ApiKeyRecord> = {}): Promise<ApiKeyRecord> {
  const key: ApiKeyRecord = {
    id: randomUUID(),
    projectId: project.id,
    prefix: `fwk_${randomBytes(4).toString('hex')}`,
    hash: new Uint8Array(randomBytes(32)),
    name: null,
    scopes: new Set(['burn', 'airdrop']),
    createdAt: NOW,
    expiresAt: null,
    ...changes,
  };
  await insertApiKey(db, key);
  return key;
}
