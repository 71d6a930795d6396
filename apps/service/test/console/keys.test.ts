import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { KeySummary } from '@flywheel/api';
import { assertError } from '@flywheel/testing/batches';
import { getCurrent } from '@flywheel/testing/client';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { type ConsoleWorld, openConsoleWorld } from '@flywheel/testing/world';

let world: World;
let ask: ConsoleWorld['ask'];
let companyCookie: string;
let project: TestProject;
let stranger: TestProject;
before(async () => {
  ({ world, ask, companyCookie } = await openConsoleWorld());
  [project, stranger] = await Promise.all([createProject(world), createProject(world)]);
});
beforeEach(async () => {
  // The keys of other tests count towards the maximum.
  const others = world.db.updateTable('api_keys').where('name', 'is distinct from', 'first key');
  await others.set({ revoked_at: new Date(0) }).execute();
});
after(() => world.stop());

const keysPath = () => `/projects/${project.projectId}/keys`;
const list = async (): Promise<KeySummary[]> => requireOk(await ask('GET', keysPath(), project.cookie)).keys;
const create = async (body: object = {}) => requireOk(await ask('POST', keysPath(), project.cookie, body));
const rotate = (keyId: string, body: object = {}, cookie = project.cookie) =>
  ask('POST', `${keysPath()}/${keyId}/rotate`, cookie, body);
const revoke = (keyId: string) => ask('DELETE', `${keysPath()}/${keyId}`, project.cookie);
const find = async (keyId: string) => {
  const key = (await list()).find((each) => each.keyId === keyId);
  assert.ok(key, `${keyId} is listed`);
  return key;
};
const isAccepted = async (apiKey: string) => (await getCurrent(world.url, apiKey)).status === 200;
const historyOf = async (keyId: string) => {
  const { entries } = requireOk(await ask('GET', `/projects/${project.projectId}/history`, project.cookie));
  return entries.filter(({ subject }: { subject?: string }) => subject === keyId);
};
const DAY_MS = 86_400_000;

describe('the number of keys', () => {
  it('is at most 20 that work or did a minute ago, however many are requested at once', async () => {
    const owner = await createProject(world);
    const path = `/projects/${owner.projectId}/keys`;
    const answers = await Promise.all(Array.from({ length: 22 }, () => ask('POST', path, owner.cookie, {})));
    assert.equal(answers.filter(({ status }) => status === 200).length, 19);
    for (const answer of answers)
      if (answer.status !== 200) assertError(answer, 409, 'ERR_TOO_MANY_KEYS', /20 API keys/);
    const [{ keyId }] = requireOk(await ask('GET', path, owner.cookie)).keys;
    assertError(await ask('POST', `${path}/${keyId}/rotate`, owner.cookie, {}), 409, 'ERR_TOO_MANY_KEYS');
    requireOk(await ask('DELETE', `${path}/${keyId}`, owner.cookie));
    assertError(await ask('POST', path, owner.cookie, {}), 409, 'ERR_TOO_MANY_KEYS', /one more minute/);
    const aMinuteAgo = new Date(Date.now() - 61_000);
    await world.db.updateTable('api_keys').set({ revoked_at: aMinuteAgo }).where('id', '=', keyId).execute();
    requireOk(await ask('POST', path, owner.cookie, {}));
  });
});

describe('the list of keys', () => {
  it('shows every key newest first with its name, prefix and scopes, and never the key', async () => {
    const expiresAt = new Date(Date.now() + DAY_MS).toISOString();
    const { keyId, apiKey } = await create({ name: 'ads', scopes: ['airdrop'], expiresAt });
    const [newest, ...older] = await list();
    assert.deepEqual(newest, {
      keyId,
      name: 'ads',
      prefix: apiKey.slice(0, 12),
      scopes: ['airdrop'],
      state: 'active',
      dateCreated: newest?.dateCreated,
      expiresAt,
    });
    assert.equal(older.at(-1)?.name, 'first key');
    const whole = JSON.stringify(await list());
    assert.ok(!whole.includes(apiKey) && !whole.includes(project.apiKey));
  });

  it('shows when a key was last used, and whether it is active, replaced, expired or revoked', async () => {
    const [used, expired, revoked, replaced] = await Promise.all([create(), create(), create(), create()]);
    assert.ok(await isAccepted(used.apiKey));
    const lastUsedAt = (await find(used.keyId)).lastUsedAt;
    assert.ok(lastUsedAt && Date.now() - Date.parse(lastUsedAt) < 60_000);
    await world.db
      .updateTable('api_keys')
      .set({ expires_at: new Date(Date.now() - 1) })
      .where('id', '=', expired.keyId)
      .execute();
    requireOk(await revoke(revoked.keyId));
    requireOk(await rotate(replaced.keyId));
    const states = await Promise.all([used, expired, revoked, replaced].map(({ keyId }) => find(keyId)));
    assert.deepEqual(
      states.map(({ state }) => state),
      ['active', 'expired', 'revoked', 'replaced'],
    );
    assert.ok(states[2]?.revokedAt);
  });

  it('can be read by the company, and by no other wallet', async () => {
    requireOk(await ask('GET', keysPath(), companyCookie));
    assertError(await ask('GET', keysPath(), stranger.cookie), 404, 'ERR_PROJECT_NOT_FOUND');
    assertError(await ask('GET', keysPath(), ''), 401, 'ERR_UNAUTHORIZED');
  });
});

describe('the rotation of a key', () => {
  it('creates a key with the same scopes and name, and both work until the overlap ends', async () => {
    const old = await create({ name: 'server', scopes: ['burn'] });
    const rotated = requireOk(await rotate(old.keyId, { overlapSeconds: 3_600 }));
    assert.equal(rotated.replacedKeyId, old.keyId);
    const overlapMs = Date.parse(rotated.replacedExpiresAt) - Date.now();
    assert.ok(overlapMs > 3_590_000 && overlapMs <= 3_600_000, `${overlapMs} ms`);
    assert.deepEqual([await isAccepted(old.apiKey), await isAccepted(rotated.apiKey)], [true, true]);

    const [before, since] = [await find(old.keyId), await find(rotated.keyId)];
    assert.deepEqual(
      [before.state, before.replacedBy, before.expiresAt],
      ['replaced', rotated.keyId, rotated.replacedExpiresAt],
    );
    assert.deepEqual(
      [since.state, since.name, since.scopes, since.expiresAt],
      ['active', 'server', ['burn'], undefined],
    );

    await world.db
      .updateTable('api_keys')
      .set({ expires_at: new Date(Date.now() - 1) })
      .where('id', '=', old.keyId)
      .execute();
    assertError(await getCurrent(world.url, old.apiKey), 401, 'ERR_UNAUTHORIZED', /expired/);
    assert.equal((await find(old.keyId)).state, 'expired');
    assert.ok(await isAccepted(rotated.apiKey));
  });

  it('overlaps for a day by default, and ends the old key at once if requested', async () => {
    const [day, none] = await Promise.all([create(), create()]);
    const { replacedExpiresAt } = requireOk(await rotate(day.keyId));
    assert.ok(Math.abs(Date.parse(replacedExpiresAt) - Date.now() - DAY_MS) < 10_000);
    const { apiKey } = requireOk(await rotate(none.keyId, { overlapSeconds: 0 }));
    assertError(await getCurrent(world.url, none.apiKey), 401, 'ERR_UNAUTHORIZED', /expired/);
    assert.ok(await isAccepted(apiKey));
  });

  it('never extends the old key, and gives the new one the requested name and expiry', async () => {
    const soon = new Date(Date.now() + 60_000).toISOString();
    const later = new Date(Date.now() + 30 * DAY_MS).toISOString();
    const old = await create({ expiresAt: soon });
    const rotated = requireOk(await rotate(old.keyId, { name: 'next', expiresAt: later }));
    assert.equal(rotated.replacedExpiresAt, soon);
    const { name, expiresAt } = await find(rotated.keyId);
    assert.deepEqual([name, expiresAt], ['next', later]);
  });

  it('happens once for simultaneous requests; the others are answered with the key that replaces it', async () => {
    const old = await create();
    const count = (await list()).length;
    const answers = await Promise.all(Array.from({ length: 6 }, () => rotate(old.keyId)));
    const [won, ...more] = answers.filter(({ status }) => status === 200);
    assert.ok(won);
    assert.equal(more.length, 0);
    for (const lost of answers.filter((answer) => answer !== won)) {
      assertError(lost, 400, 'ERR_INVALID_REQUEST', new RegExp(`params\\.keyId .*${won.body.keyId} replaces already`));
    }
    assert.equal((await list()).length, count + 1, 'those that lost have left no key behind');
    requireOk(await rotate(won.body.keyId));
  });

  it('is rejected for inactive, unknown and other projects’ keys, and for invalid times', async () => {
    const [revoked, expired, good] = await Promise.all([create(), create(), create()]);
    requireOk(await revoke(revoked.keyId));
    await world.db
      .updateTable('api_keys')
      .set({ expires_at: new Date(0) })
      .where('id', '=', expired.keyId)
      .execute();
    assertError(await rotate(revoked.keyId), 400, 'ERR_INVALID_REQUEST', /params\.keyId .*revoked/);
    assertError(await rotate(expired.keyId), 400, 'ERR_INVALID_REQUEST', /params\.keyId .*expired/);
    assertError(await rotate(randomUUID()), 404, 'ERR_KEY_NOT_FOUND');
    assertError(await rotate('x'), 400, 'ERR_INVALID_REQUEST', /params\.keyId/);
    for (const [body, place] of [
      [{ overlapSeconds: -1 }, /body\.overlapSeconds/],
      [{ overlapSeconds: 30 * 86_400 + 1 }, /body\.overlapSeconds/],
      [{ overlapSeconds: 1.5 }, /body\.overlapSeconds/],
      [{ expiresAt: '2020-01-01T00:00:00Z' }, /body\.expiresAt .*passed/],
      [{ name: '' }, /body\.name/],
    ] as const) {
      assertError(await rotate(good.keyId, body), 400, 'ERR_INVALID_REQUEST', place);
    }
    assertError(await rotate(good.keyId, {}, stranger.cookie), 404, 'ERR_PROJECT_NOT_FOUND');
    assertError(await rotate(good.keyId, {}, companyCookie), 404, 'ERR_PROJECT_NOT_FOUND');
    const theirs = await ask('POST', `/projects/${stranger.projectId}/keys/${good.keyId}/rotate`, stranger.cookie, {});
    assertError(theirs, 404, 'ERR_KEY_NOT_FOUND');
    assert.equal((await find(good.keyId)).state, 'active');
  });
});

describe('the audit log of a key', () => {
  it('names who created, rotated and revoked it, once each, and never contains the key', async () => {
    const { keyId, apiKey } = await create({ name: 'ads' });
    const rotated = requireOk(await rotate(keyId));
    requireOk(await revoke(keyId));
    requireOk(await revoke(keyId));
    const entries = await historyOf(keyId);
    assert.deepEqual(
      entries.map(({ action, actor }: { action: string; actor: string }) => [action, actor]),
      ['key.revoked', 'key.rotated', 'key.created'].map((action) => [action, project.wallet.address]),
    );
    const [, rotation, creation] = entries;
    assert.deepEqual(creation.after, { name: 'ads', scopes: ['burn', 'airdrop'], expiresAt: null });
    assert.equal(rotation.after.replacedBy, rotated.keyId);
    assert.equal(rotation.after.expiresAt, rotated.replacedExpiresAt);
    const log = JSON.stringify(await world.db.selectFrom('audit_log').selectAll().execute(), (_key, value) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    assert.ok(!log.includes(apiKey) && !log.includes(rotated.apiKey));
  });
});
