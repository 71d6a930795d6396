import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BATCH_ID, json, SESSION_TOKEN, startTestServer, WALLET } from '@flywheel/testing/test-server';

const CURRENT = '/v1/flywheel/batch/current';

describe('a rate limit', () => {
  it('is in the headers of every authenticated answer, errors included', async () => {
    await using server = await startTestServer({ requestsPerWindow: 10 });
    const answers = [
      await server.fetch('/v1/flywheel/batch/x'),
      await server.fetch('/v1/flywheel/batch/execute', json('{')),
      await server.fetch('/v1/flywheel/batch/execute', { method: 'POST', body: 'text' }),
      await server.fetch(CURRENT),
    ];
    assert.deepEqual(
      answers.map(({ status, headers }) => [status, headers.get('ratelimit-policy'), headers.get('ratelimit')]),
      [
        [400, '"get";q=10;w=60', '"get";r=9;t=41'],
        [400, '"execute";q=10;w=60', '"execute";r=9;t=41'],
        [415, '"execute";q=10;w=60', '"execute";r=8;t=41'],
        [200, '"current";q=10;w=60', '"current";r=9;t=41'],
      ],
    );
    for (const untold of [await server.fetch(CURRENT, { apiKey: null }), await server.fetch('/nowhere')]) {
      assert.equal(untold.headers.get('ratelimit'), null);
    }
  });

  it('answers 429 with Retry-After above the limit, before the body is read', async () => {
    await using server = await startTestServer({ requestsPerWindow: 2 });
    const execute = () => server.fetch('/v1/flywheel/batch/execute', json({ batchId: BATCH_ID, signedTx: 'y' }));
    assert.deepEqual([(await execute()).status, (await execute()).status], [202, 202]);
    const response = await server.fetch('/v1/flywheel/batch/execute', { method: 'POST', body: 'no JSON' });
    assert.equal(response.status, 429);
    assert.equal(response.headers.get('retry-after'), '41');
    assert.equal(response.headers.get('ratelimit'), '"execute";r=0;t=41');
    assert.deepEqual(await response.json(), {
      error: 'ERR_RATE_LIMITED',
      message: 'The limit of 2 requests in 60 s is reached. Try again in 41 s.',
    });
    assert.equal((await server.fetch(CURRENT)).status, 200, 'another operation is counted by itself');
    const otherKey = server.addKey();
    const other = json({ batchId: BATCH_ID, signedTx: 'y' });
    assert.equal((await server.fetch('/v1/flywheel/batch/execute', { ...other, apiKey: otherKey })).status, 202);
  });

  it('counts what asks the cluster much from the console as operations that make much work', async () => {
    await using server = await startTestServer({ requestsPerWindow: 10 });
    const project = `/console/api/projects/${BATCH_ID}`;
    for (const path of [
      `${project}/withdrawals`,
      `${project}/rotations`,
      '/console/api/registrations',
      `/console/api/registrations/${BATCH_ID}/confirm`,
    ]) {
      const { headers } = await server.fetch(path, json({}, { cookie: `flywheel_session=${SESSION_TOKEN}` }));
      assert.match(headers.get('ratelimit-policy') ?? '', /^"heavy"/, path);
    }
  });

  it('counts the console by wallet, or by address without a session', async () => {
    const counted: string[] = [];
    await using server = await startTestServer({
      rateLimits: {
        limits: Object.fromEntries(NAMES.map((name) => [name, { requests: 5, seconds: 1 }])) as Limits,
        consume: async (name, key) => {
          counted.push(`${name} ${key}`);
          return { allowed: true, remaining: 4, resetSeconds: 0 };
        },
      },
    });
    await server.fetch('/console/api/sign-in/challenge', json({ wallet: WALLET }, { 'x-forwarded-for': '9.9.9.9' }));
    await server.fetch('/console/api/sign-out', json('', { cookie: `flywheel_session=${SESSION_TOKEN}` }));
    assert.deepEqual(counted, ['console 127.0.0.1', `console ${WALLET}`]);
  });

  it('counts the address that a trusted proxy names, and ignores the headers of others', async () => {
    const counted: string[] = [];
    const rateLimits = {
      limits: Object.fromEntries(NAMES.map((name) => [name, { requests: 5, seconds: 1 }])) as Limits,
      consume: async (_name: string, key: string) => {
        counted.push(key);
        return { allowed: true, remaining: 4, resetSeconds: 0 };
      },
    };
    for (const trustedProxies of [['127.0.0.0/8'], ['10.0.0.0/8']]) {
      await using server = await startTestServer({ rateLimits, trustedProxies });
      const forwarded = { 'x-forwarded-for': '1.2.3.4, 9.9.9.9' };
      await server.fetch('/console/api/sign-in/challenge', json({ wallet: WALLET }, forwarded));
    }
    assert.deepEqual(counted, ['9.9.9.9', '127.0.0.1'], 'the last is who our proxy saw');
  });
});

const NAMES = ['preview', 'init', 'execute', 'get', 'current', 'console', 'heavy', 'proof', 'project'] as const;
type Limits = Record<(typeof NAMES)[number], { requests: number; seconds: number }>;
