import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ApiError, ErrorBody } from '@flywheel/api';
import { BATCH_ID, json, PROJECT, startTestServer, type TestServer } from '@flywheel/testing/test-server';
import { createApiKey } from '../../src/projects/api-key.ts';

const EXECUTE = '/v1/flywheel/batch/execute';
const INIT = '/v1/flywheel/batch/init';
const CURRENT = '/v1/flywheel/batch/current';
const MEBIBYTE = 1024 * 1024;

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server[Symbol.asyncDispose]());

describe('a route', () => {
  it('answers 404 to anything if it does not exist', async () => {
    await refused(server.fetch('/nowhere'), 404, 'ERR_ROUTE_NOT_FOUND', /^GET \/nowhere does not exist\. /);
    await refused(
      server.fetch('/nowhere?key=secret', json('{')),
      404,
      'ERR_ROUTE_NOT_FOUND',
      /^POST \/nowhere does not exist\. /,
    );
    await refused(server.fetch('/v1/flywheel/batch/init/', json({})), 404, 'ERR_ROUTE_NOT_FOUND');
    await refused(server.fetch('/V1/flywheel/batch/current'), 404, 'ERR_ROUTE_NOT_FOUND');
    await refused(server.fetch('/nowhere', { method: 'PROPFIND' }), 404, 'ERR_ROUTE_NOT_FOUND');
  });

  it('answers 404 for the target *, which asks about the server as a whole', async () => {
    for (const method of ['OPTIONS', 'GET']) {
      const answer = await server.send(`${method} * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
      assert.match(answer, new RegExp(`^HTTP/1\\.1 404 .*"${method} \\* does not exist\\.`, 's'));
    }
  });

  it('answers 405 with Allow to another method, before it checks the key or the body', async () => {
    for (const [path, method, allow] of [
      [INIT, 'GET', 'POST'],
      [EXECUTE, 'DELETE', 'POST'],
      [CURRENT, 'POST', 'GET, HEAD'],
      [`/v1/flywheel/batch/${BATCH_ID}`, 'PATCH', 'GET, HEAD'],
      ['/health/live', 'PUT', 'GET, HEAD'],
      ['/docs', 'OPTIONS', 'GET, HEAD'],
      [CURRENT, 'MKCOL', 'GET, HEAD'],
      ['/console/api/sign-out', 'GET', 'POST'],
    ] as const) {
      const body = method === 'GET' ? {} : { body: 'no JSON' };
      const response = await server.fetch(path, { method, apiKey: null, ...body });
      assert.equal(response.headers.get('allow'), allow, `${method} ${path}`);
      await refused(response, 405, 'ERR_METHOD_NOT_ALLOWED', new RegExp(`supports ${allow}, not ${method}`));
    }
  });

  it('answers HEAD if it answers GET', async () => {
    const response = await server.fetch(CURRENT, { method: 'HEAD' });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-length'), '4');
    assert.equal((await server.fetch(CURRENT, { method: 'HEAD', apiKey: null })).status, 401);
  });

  it('answers 400 for a path that is not percent-encoded UTF-8', async () => {
    for (const path of ['/%', '/%zz', '/v1/flywheel/batch/%ff', '/v1/flywheel/batch/%c3%28']) {
      await refused(server.fetch(path), 400, 'ERR_INVALID_REQUEST', /^path is not/);
    }
  });
});

describe('an API key', () => {
  it('answers 401 if it is missing, a bearer credential, or malformed', async () => {
    const mistyped = server.apiKey.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'));
    await refused(server.fetch(CURRENT, { apiKey: null }), 401, 'ERR_UNAUTHORIZED', /x-service-api-key/);
    const headers = { authorization: `Bearer ${server.apiKey}` };
    const bearer = await server.fetch(CURRENT, { apiKey: null, headers });
    assert.equal(bearer.headers.get('www-authenticate'), 'ApiKey header="x-service-api-key"');
    await refused(bearer, 401, 'ERR_UNAUTHORIZED');
    for (const apiKey of ['', 'fwk_', mistyped, `${server.apiKey}x`, server.apiKey.slice(1), '🔑'.length.toString()]) {
      const response = await server.fetch(CURRENT, { apiKey });
      assert.equal(response.headers.get('ratelimit'), null);
      const message = await refused(response, 401, 'ERR_UNAUTHORIZED');
      assert.ok(apiKey === '' || apiKey === 'fwk_' || !message.includes(apiKey), 'the key is repeated');
    }
  });

  it('answers 404 if it is well formed and unknown, whether its prefix is known or not', async () => {
    const { apiKey: unknown } = createApiKey(new Uint8Array(32).fill(7));
    await refused(server.fetch(CURRENT, { apiKey: unknown }), 404, 'ERR_KEY_NOT_FOUND');
    const otherHash = server.addKey({ hash: new Uint8Array(32).fill(1) });
    await refused(server.fetch(CURRENT, { apiKey: otherHash }), 404, 'ERR_KEY_NOT_FOUND');
  });

  it('answers 401 if it is revoked or expired, and says which and when', async () => {
    const revoked = server.addKey({ revokedAt: new Date('2026-11-01T00:00:00Z') });
    await refused(
      server.fetch(CURRENT, { apiKey: revoked }),
      401,
      'ERR_UNAUTHORIZED',
      /revoked at 2026-11-01T00:00:00/,
    );
    const expired = server.addKey({ expiresAt: new Date('2026-11-21T12:00:00Z') });
    await refused(
      server.fetch(CURRENT, { apiKey: expired }),
      401,
      'ERR_UNAUTHORIZED',
      /expired at 2026-11-21T12:00:00/,
    );
    const lasting = server.addKey({ expiresAt: new Date('2026-11-21T12:00:01Z') });
    assert.equal((await server.fetch(CURRENT, { apiKey: lasting })).status, 200);
  });

  it('answers 404 if its project is gone', async () => {
    for (const [found, code] of [
      ['token-gone', 'ERR_TOKEN_NOT_FOUND'],
      ['flywheel-gone', 'ERR_FLYWHEEL_NOT_FOUND'],
      [null, 'ERR_KEY_NOT_FOUND'],
    ] as const) {
      await using emptied = await startTestServer({ project: found });
      await refused(emptied.fetch(CURRENT), 404, code);
    }
  });

  it('gives the handler its project, and records its use at most once a minute', async () => {
    const touched: string[] = [];
    const seen: unknown[] = [];
    await using noting = await startTestServer({
      touchApiKey: async (keyId) => void touched.push(keyId),
      handlers: {
        getCurrentBatch: async ({ project, keyId, keyScopes }) => {
          seen.push([project.id, keyId, [...keyScopes]]);
          return { status: 200, body: null };
        },
      },
    });
    await noting.fetch(CURRENT);
    assert.deepEqual(seen, [[PROJECT.id, 'key-1', ['burn']]]);
    assert.deepEqual(touched, ['key-1']);
    const touchedAfter = async (ms: number) => {
      const apiKey = noting.addKey({ lastUsedAt: new Date(Date.parse('2026-11-21T12:00:00Z') - ms) });
      touched.length = 0;
      await noting.fetch(CURRENT, { apiKey });
      return touched.length;
    };
    assert.deepEqual([await touchedAfter(60_000), await touchedAfter(60_001)], [0, 1]);
  });
});

describe('a body', () => {
  it('answers 415 for anything but JSON, before its size or its text is checked', async () => {
    for (const contentType of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonp',
      'json',
      ',;/=',
    ]) {
      const request = { method: 'POST', body: '{'.repeat(3 * MEBIBYTE), headers: { 'content-type': contentType } };
      await refused(server.fetch(EXECUTE, request), 415, 'ERR_UNSUPPORTED_MEDIA_TYPE', /application\/json/);
    }
    const untyped = { method: 'POST', body: new Uint8Array([1]) };
    await refused(server.fetch(EXECUTE, untyped), 415, 'ERR_UNSUPPORTED_MEDIA_TYPE', /not nothing/);
    const packed = json({}, { 'content-encoding': 'gzip' });
    const compressed = await server.fetch(EXECUTE, packed);
    assert.equal(compressed.headers.get('accept-encoding'), 'identity');
    const sentence = /^A body may not be compressed\. Send it without Content-Encoding: gzip\.$/;
    await refused(compressed, 415, 'ERR_UNSUPPORTED_MEDIA_TYPE', sentence);
    assert.equal((await server.fetch(EXECUTE, untyped)).headers.get('accept-encoding'), null);
  });

  it('is none without a byte, whatever its type and however its length is sent', async () => {
    const head = (type: string) =>
      `POST /v1/flywheel/batch/${BATCH_ID}/cancel HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-service-api-key: ${server.apiKey}\r\n${type}`;
    for (const type of ['', 'content-type: application/x-www-form-urlencoded\r\n']) {
      for (const rest of ['\r\n', 'content-length: 0\r\n\r\n', 'transfer-encoding: chunked\r\n\r\n0\r\n\r\n']) {
        assert.match(await server.send(head(type) + rest), /^HTTP\/1\.1 200 /, type + rest);
      }
      const chunk = 'transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n';
      assert.match(await server.send(head(type) + chunk), /^HTTP\/1\.1 415 .*ERR_UNSUPPORTED_MEDIA_TYPE/s, type);
    }
    const empty = await server.send(`${head('content-type:\r\n')}content-length: 2\r\n\r\n{}`);
    assert.match(empty, /"Send Content-Type: application\/json, not nothing\."/);
  });

  it('of another type leaves the connection open, so that a client that still sends it reads the answer', async () => {
    const refusedOne = `POST ${EXECUTE} HTTP/1.1\r\nhost: x\r\nx-service-api-key: ${server.apiKey}\r\ncontent-type: text/plain\r\ncontent-length: 7\r\n\r\n{}{}{}{`;
    const answers = await server.send(`${refusedOne}GET /health/live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    assert.match(answers, /^HTTP\/1\.1 415 .*HTTP\/1\.1 200 /s);
  });

  it('is read with any parameters and case of its content type, and any case of the coding identity', async () => {
    const body = { batchId: BATCH_ID, signedTx: 'AA==' };
    for (const [name, value] of [
      ['content-type', 'Application/JSON ; Charset="UTF-8"'],
      ['content-encoding', 'Identity'],
      ['content-encoding', ''],
    ] as const) {
      const { status } = await server.fetch(EXECUTE, json(body, { [name]: value }));
      assert.equal(status, 202, `${name}: ${value}`);
    }
  });

  it('answers 413 above what the operation needs, by its length or as it arrives; init reads 2 MiB', async () => {
    const exactly = JSON.stringify({ pad: 'x'.repeat(2 * MEBIBYTE - 10) });
    assert.equal(exactly.length, 2 * MEBIBYTE);
    const idempotent = { 'x-idempotency-key': BATCH_ID };
    assert.equal((await server.fetch(INIT, json(exactly, idempotent))).status, 200);
    await refused(server.fetch(INIT, json(`${exactly} `, idempotent)), 413, 'ERR_BODY_TOO_LARGE', /2097152 bytes/);
    const chunks = ['x'.repeat(MEBIBYTE), 'x'.repeat(MEBIBYTE), 'x'];
    const head = `POST ${INIT} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-service-api-key: ${server.apiKey}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
    const body = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
    const answer = await server.send(`${head}${body}0\r\n\r\n`);
    assert.match(answer, /^HTTP\/1\.1 413 .*ERR_BODY_TOO_LARGE/s);
    const other = json({ batchId: BATCH_ID, signedTx: 'A'.repeat(64 * 1024) });
    await refused(server.fetch(EXECUTE, other), 413, 'ERR_BODY_TOO_LARGE', /larger than 65536 bytes/);
  });

  it('answers 400 if it is empty, not JSON, not UTF-8 or too deep, and says where', async () => {
    const invalid = async (body: string | Uint8Array<ArrayBuffer>, message: RegExp) => {
      const request = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
      await refused(server.fetch(EXECUTE, request), 400, 'ERR_INVALID_REQUEST', message);
    };
    await refused(
      server.fetch(EXECUTE, { method: 'POST' }),
      400,
      'ERR_INVALID_REQUEST',
      /^body is empty; send JSON\.$/,
    );
    await invalid('', /^body is empty; send JSON\.$/);
    await invalid(' ', /^body is not JSON\.$/);
    await invalid('{"batchId":}', /^body is not JSON/);
    await invalid(`{"batchId":"${BATCH_ID}","signedTx":oops} and more text`, /^body is not JSON/);
    await invalid(new Uint8Array([0x7b, 0xff, 0x7d]), /^body is not UTF-8 \(3 bytes\)\.$/);
    await invalid(new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]), /^body is not UTF-8 \(5 bytes\)\.$/);
    await invalid('['.repeat(65), /^body nests deeper than 64 levels, at character 65\.$/);
    await invalid('['.repeat(60_000), /^body nests deeper than 64 levels/);
    await invalid('"[[[[[', /^body is not JSON/);
    await invalid('[]', /^body must be an object, not an array\.$/);
    await invalid('null', /^body must be an object, not null\.$/);
  });

  it('is not quoted if it cannot be parsed, since it may hold a secret', async () => {
    const response = await server.fetch(EXECUTE, json(`oops ${server.apiKey}`));
    assert.ok(!(await response.text()).includes(server.apiKey));
  });
});

describe('an error', () => {
  it('of the service is the operation’s own 500, and hides its cause', async () => {
    const broken = async () => {
      throw new Error('select * from api_keys: connection refused');
    };
    await using failing = await startTestServer({
      handlers: { initBatch: { checksBody: broken }, executeBatch: broken, getBatch: broken, getCurrentBatch: broken },
      consoleHandlers: { createSignInChallenge: broken },
    });
    const body = { batchId: BATCH_ID, signedTx: 'AA==' };
    const init = failing.fetch(INIT, json({}, { 'x-idempotency-key': BATCH_ID }));
    await refused(init, 500, 'ERR_BATCH_INIT_FAILED', /a batch that was stored is answered then/);
    await refused(failing.fetch(EXECUTE, json(body)), 500, 'ERR_BATCH_EXECUTE_FAILED');
    await refused(failing.fetch(CURRENT), 500, 'ERR_BATCH_CURRENT_FAILED');
    await refused(
      failing.fetch(`/v1/flywheel/batch/${BATCH_ID}`),
      500,
      'ERR_INTERNAL',
      /^The service failed unexpectedly\./,
    );
    const challenge = json({ wallet: PROJECT.wallet });
    await refused(failing.fetch('/console/api/sign-in/challenge', challenge), 500, 'ERR_INTERNAL');
    assert.match(failing.log(), /connection refused/);
  });

  it('during the key’s check is the operation’s own 500', async () => {
    await using failing = await startTestServer({ findKeyHolder: () => Promise.reject(new Error('no database')) });
    await refused(failing.fetch(CURRENT), 500, 'ERR_BATCH_CURRENT_FAILED');
  });

  it('thrown as an ApiError is answered as in the catalogue, Retry-After included', async () => {
    await using refusing = await startTestServer({
      handlers: {
        getBatch: async (_context, { params }) => {
          throw new ApiError('ERR_BATCH_NOT_FOUND', params);
        },
        getCurrentBatch: async () => {
          throw new ApiError('ERR_NONCE_POOL_EMPTY', { retryAfterSeconds: 5 });
        },
      },
    });
    await refused(refusing.fetch(`/v1/flywheel/batch/${BATCH_ID}`), 404, 'ERR_BATCH_NOT_FOUND', new RegExp(BATCH_ID));
    const empty = await refusing.fetch(CURRENT);
    assert.equal(empty.headers.get('retry-after'), '5');
    await refused(empty, 503, 'ERR_NONCE_POOL_EMPTY');
  });

  it('of a cap has Retry-After only if the cap resets by itself', async () => {
    const cap = {
      scope: 'project',
      kind: 'locked',
      cap: '20000000000',
      used: '19600000000',
      asked: '620000000',
    } as const;
    for (const retryAfterSeconds of [null, 60]) {
      await using capped = await startTestServer({
        handlers: {
          getCurrentBatch: async () => {
            throw new ApiError('ERR_CAP_REACHED', { problem: 'It is full.', cap, retryAfterSeconds });
          },
        },
      });
      const answer = await capped.fetch(CURRENT);
      assert.equal(answer.headers.get('retry-after'), retryAfterSeconds && String(retryAfterSeconds));
      await refused(answer, 429, 'ERR_CAP_REACHED');
    }
  });
});

/** Checks an error answer and the headers that every answer has. @returns its message. */
async function refused(
  answer: Response | Promise<Response>,
  status: number,
  code: string,
  message = /./,
): Promise<string> {
  const response = await answer;
  const text = await response.text();
  assert.equal(response.status, status, text);
  assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
  assert.match(response.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
  assert.match(response.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
  assert.equal(response.headers.get('x-powered-by'), null);
  const body = ErrorBody.strict().parse(JSON.parse(text));
  assert.equal(body.error, code);
  assert.match(body.message, message);
  return body.message;
}
