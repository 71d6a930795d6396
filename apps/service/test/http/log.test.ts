import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '@flywheel/api';
import { BATCH_ID, json, SESSION_TOKEN, startTestServer } from '@flywheel/testing/test-server';

const CURRENT = '/v1/flywheel/batch/current';

describe('a request id', () => {
  it('is the client’s own if it is short and plain, otherwise a new one', async () => {
    await using server = await startTestServer();
    const answered = async (id: string) => {
      const { headers } = await server.fetch(CURRENT, { headers: { 'x-request-id': id } });
      return headers.get('x-request-id');
    };
    for (const id of ['a', 'Root=1-67891233-abcdef012345678912345678', '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d']) {
      assert.equal(await answered(id), id);
    }
    for (const id of ['', 'two words', 'x'.repeat(65), '{"level":60}', 'é', server.apiKey]) {
      assert.match((await answered(id)) ?? '', /^[0-9a-f-]{36}$/);
    }
  });

  it('is in the log beside the cause of an unexpected error', async () => {
    await using server = await startTestServer({
      handlers: {
        getCurrentBatch: async () => {
          throw new Error('reading the batch failed', { cause: new RangeError('column 7 is missing') });
        },
      },
    });
    const response = await server.fetch(CURRENT, { headers: { 'x-request-id': 'quote-me' } });
    assert.doesNotMatch(await response.text(), /column 7/);
    const [failed, answered] = lines(server.log()).filter(({ requestId }) => requestId === 'quote-me');
    assert.equal(failed?.level, 50);
    assert.match(JSON.stringify(failed?.err), /reading the batch failed.*column 7 is missing/);
    assert.deepEqual(
      [answered?.route, answered?.status, answered?.errorCode, answered?.keyId],
      ['GET /v1/flywheel/batch/current', 500, 'ERR_BATCH_CURRENT_FAILED', 'key-1'],
    );
  });

  it('is in the log beside the cause of a client error that has one', async () => {
    await using server = await startTestServer({
      handlers: {
        getCurrentBatch: async () => {
          throw new ApiError('ERR_BATCH_NOT_FOUND', { batchId: 'x' }, { cause: new Error('why') });
        },
      },
    });
    assert.equal((await server.fetch(CURRENT)).status, 404);
    const [refused] = lines(server.log());
    assert.deepEqual([refused?.level, refused?.msg], [30, 'request refused']);
    assert.match(JSON.stringify(refused?.err), /why/);
  });
});

describe('the log', () => {
  it('never holds an API key, a signed transaction, a cookie or a credential', async () => {
    const signedTx = Buffer.alloc(600, 'transaction').toString('base64');
    const bearer = 'bearer-credential-of-someone';
    await using server = await startTestServer({
      handlers: {
        executeBatch: async ({ log }, { body }) => {
          // A careless handler could log this.
          log.warn({ body, signedTx: body.signedTx, request: { signedTx: body.signedTx } }, 'sending');
          throw new Error(`sending ${body.signedTx} for ${server.apiKey} failed`, { cause: { key: server.apiKey } });
        },
        getCurrentBatch: async ({ log }) => {
          log.warn({ headers: { authorization: bearer }, apiKey: server.apiKey }, 'reading');
          throw Object.assign(new Error('refused'), { config: { headers: { authorization: bearer } } });
        },
      },
      consoleHandlers: {
        signOut: async ({ sessionToken }) => {
          throw new Error(`no session ${sessionToken}`);
        },
      },
      findOpenSession: async () => ({ wallet: 'wallet' as never, expiresAt: new Date(0) }),
    });
    const sessionToken = Buffer.alloc(32, 'session').toString('base64url');
    const headers = { authorization: `Bearer ${bearer}`, cookie: `flywheel_session=${sessionToken}` };
    await server.fetch(`${CURRENT}?x-service-api-key=${server.apiKey}`, { headers });
    await server.fetch(`/${server.apiKey}`, { headers });
    await server.fetch(`/v1/flywheel/batch/${server.apiKey}`, { headers });
    await server.fetch('/v1/flywheel/batch/execute', json({ batchId: BATCH_ID, signedTx }, headers));
    await server.fetch('/v1/flywheel/batch/execute', json(`{"signedTx":"${signedTx}"`, headers));
    await server.fetch('/console/api/sign-out', json('', headers));
    await server.send(`GET / HTTP/1.1\r\nx-service-api-key: ${server.apiKey}\r\nbroken\r\n\r\n`);
    const log = server.log();
    assert.ok(lines(log).length >= 8, log);
    for (const secret of [
      server.apiKey,
      server.apiKey.slice(4, 40),
      signedTx.slice(0, 64),
      bearer,
      sessionToken,
      SESSION_TOKEN,
    ]) {
      assert.ok(!log.includes(secret), `the log holds ${secret}`);
    }
    assert.match(log, /operation-route\.ts|log\.test\.ts/, 'stack traces stay readable');
  });
});

type Line = { readonly [field: string]: unknown };

function lines(log: string): Line[] {
  return log
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}
