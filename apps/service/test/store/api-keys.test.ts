import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { later, NOW, storeProject } from '@flywheel/testing/records';
import type { Project } from '../../src/model/project.ts';
import {
  type ApiKeyRecord,
  findApiKey,
  insertApiKey,
  revokeApiKey,
  touchApiKey,
} from '../../src/store/projects/api-keys.ts';

const { db } = await openTestDatabase();

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
