import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startTestServer } from '@flywheel/testing/test-server';
import { fastify } from 'fastify';
import { directoryRoutes } from '../../src/http/directory.ts';
import { createAddressLimits } from '../../src/http/operations/address-limits.ts';
import type { ShardQuestion } from '../../src/model/shard-question.ts';
import { createApiKey } from '../../src/projects/api-key.ts';

const CURRENT = '/v1/flywheel/batch/current';
const handlers = { getCurrentBatch: async () => ({ status: 200, body: null }) as const };

describe('a request for a project that moves to another shard', () => {
  it('is answered while the project is here', async () => {
    await using server = await startTestServer({ handlers, isMoving: true });
    assert.equal((await server.fetch(CURRENT)).status, 200);
  });

  it('is answered 503 if the project has left before the answer, which may be without its batches', async () => {
    await using server = await startTestServer({ handlers, isMoving: true, hasDeparted: async () => true });
    await assertMoving(await server.fetch(CURRENT));
  });

  it('is answered 503 after the project has left, by the prefix of its key', async () => {
    const { apiKey, prefix } = createApiKey(new Uint8Array(32).fill(7));
    const hasDeparted = async (by: object) => 'keyPrefix' in by && by.keyPrefix === prefix;
    await using server = await startTestServer({ handlers, hasDeparted });
    await assertMoving(await server.fetch(CURRENT, { apiKey }));
    const { apiKey: unknown } = createApiKey(new Uint8Array(32).fill(8));
    assert.equal((await server.fetch(CURRENT, { apiKey: unknown })).status, 404);
  });

  it('does not count as a search for an unknown key, which would lock out others behind the same address', async () => {
    const { apiKey } = createApiKey(new Uint8Array(32).fill(7));
    const unlimited = { requests: 1_000, seconds: 60 };
    const unknownCredentials = { requests: 1, seconds: 60 };
    const clock = { now: () => new Date(0) };
    const addressLimits = createAddressLimits({ any: unlimited, heavy: unlimited, unknownCredentials }, clock);
    await using server = await startTestServer({ handlers, addressLimits, hasDeparted: async () => true });
    for (let i = 0; i < 3; i++) await assertMoving(await server.fetch(CURRENT, { apiKey }));
  });
});

describe('the directory of a shard', () => {
  it('asks for what is well formed only', async () => {
    const asked: ShardQuestion[] = [];
    const server = fastify();
    const locate = async (question: ShardQuestion) => {
      asked.push(question);
      return 'here' as const;
    };
    for (const route of directoryRoutes(locate)) server.route(route);
    const wallet = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
    const id = '2b8f8c39-6a5e-4c21-8c05-0f6f1a3f8d01';
    const good = ['key/fwk_0123abCD', `project/${id}`, `batch/${id}`, `wallet/${wallet}`, `vault/${wallet}`];
    const bad = ['key/fwk_0123', 'key/fwk_0123abC%27', 'project/1', 'wallet/0x12', 'vault/x', 'batch/1'];
    for (const path of good) assert.equal((await server.inject({ url: `/shard/${path}` })).statusCode, 204, path);
    for (const path of bad) assert.equal((await server.inject({ url: `/shard/${path}` })).statusCode, 404, path);
    const proof = (payload: object) => server.inject({ method: 'POST', url: '/shard/proof', payload });
    assert.equal((await proof({ type: 'A', payload: '{}' })).statusCode, 204);
    assert.equal((await proof({ type: 'A' })).statusCode, 404);
    assert.deepEqual(
      asked.map(({ kind }) => kind),
      ['key', 'project', 'batch', 'wallet', 'vault', 'proof'],
    );
    await server.close();
  });
});

async function assertMoving(response: Response): Promise<void> {
  assert.equal(response.headers.get('retry-after'), '2');
  assert.equal(response.status, 503);
  assert.equal(((await response.json()) as { readonly error: string }).error, 'ERR_PROJECT_MOVING');
}
