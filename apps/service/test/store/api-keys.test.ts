import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { later, NOW, storeBatch, storeNonces, storeProject } from '@flywheel/testing/records';
import type { Project } from '../../src/model/project.ts';
import { findBatchWithoutPipelines } from '../../src/store/batches/batches.ts';
import { closeDb, type Db, openDb } from '../../src/store/db.ts';
import { findKeyHolder } from '../../src/store/key-holders.ts';
import {
  type ApiKeyRecord,
  findApiKey,
  insertApiKey,
  revokeApiKey,
  touchApiKey,
} from '../../src/store/projects/api-keys.ts';
import { findProject } from '../../src/store/projects/projects.ts';

const { db, poolConfig } = await openTestDatabase();
const LIMIT = { requests: 5, seconds: 7 };

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
  const ask = (on: Db) => findKeyHolder(on, key, { name: 'get', limit: LIMIT, now: NOW, batchId: null });
  const found = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(i % 2 === 0 ? db : other)));
  await closeDb(other);
  assert.equal(found.filter((holder) => holder?.limit?.allowed).length, LIMIT.requests);
  assert.deepEqual(found[0]?.key, await findApiKey(db, key.prefix));
  assert.deepEqual(found[0]?.project, await findProject(db, project.id));
  const after = { name: 'get', limit: LIMIT, now: new Date(NOW.getTime() + 7_000), batchId: null } as const;
  const later = await findKeyHolder(db, key, after);
  assert.deepEqual(later?.limit, { allowed: true, remaining: 4, resetSeconds: 7 });
});

test('a batch is read with the key: as it is, of its own project, and of pipelines only', async () => {
  const [project, stranger] = [await storeProject(db), await storeProject(db)];
  const key = await storeKey(project);
  await storeNonces(db, 3);
  const [batch, withdrawal] = [await storeBatch(db, project), await storeBatch(db, project, { kind: 'withdrawal' })];
  const foreign = await storeBatch(db, stranger);
  const read = async (batchId: string) =>
    (await findKeyHolder(db, key, { name: 'get', limit: LIMIT, now: NOW, batchId }))?.batch;
  assert.deepEqual(await read(batch.id), await findBatchWithoutPipelines(db, batch.id));
  for (const { id } of [withdrawal, foreign, { id: randomUUID() }]) assert.equal(await read(id), null);
});

test('a request is not counted for a wrong, revoked or expired key, or without a project', async () => {
  const project = await storeProject(db);
  const counted = { name: 'get', limit: LIMIT, now: NOW, batchId: null } as const;
  const key = await storeKey(project);
  assert.equal((await findKeyHolder(db, { ...key, hash: new Uint8Array(32) }, counted))?.limit, null);
  assert.equal((await findKeyHolder(db, key, counted))?.limit?.remaining, 4);
  await revokeApiKey(db, project.id, key.id, NOW);
  assert.equal((await findKeyHolder(db, key, counted))?.limit, null);
  const expired = await storeKey(project, { expiresAt: NOW });
  assert.equal((await findKeyHolder(db, expired, counted))?.limit, null);

  const emptied = await storeProject(db);
  const left = await storeKey(emptied);
  await db.updateTable('tokens').set({ archived_at: NOW }).where('project_id', '=', emptied.id).execute();
  const found = await findKeyHolder(db, left, counted);
  assert.deepEqual([found?.key.id, found?.project, found?.limit], [left.id, 'token-gone', null]);
  assert.equal(await findKeyHolder(db, { prefix: 'fwk_unknown1', hash: left.hash }, counted), null);
});

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
