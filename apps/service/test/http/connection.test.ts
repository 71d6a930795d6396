import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { startTestServer, type TestServer } from '@flywheel/testing/test-server';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server[Symbol.asyncDispose]());

describe('bytes that are not a request', () => {
  it('are answered in JSON like every other error, and the connection is closed', async () => {
    const head = `POST /v1/flywheel/batch/init HTTP/1.1\r\nhost: x\r\nx-service-api-key: ${server.apiKey}\r\ncontent-type: application/json\r\n`;
    const header = (bytes: number) => `GET / HTTP/1.1\r\nhost: x\r\npad: ${'x'.repeat(bytes)}\r\n\r\n`;
    for (const [bytes, message] of [
      ['garbage\r\n\r\n', /^request does not begin with a known HTTP method in capitals\.$/],
      ['FOO / HTTP/1.1\r\nhost: x\r\n\r\n', /^request does not begin with a known HTTP method/],
      ['GET / HTTP/3.7\r\nhost: x\r\n\r\n', /^request is not/],
      ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', /^request is not/],
      ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', /^request does not begin with/],
      ['GET / HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n', /^request has a header that is not valid\.$/],
      [
        `${head}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`,
        /^request has a Content-Length or a Transfer-/,
      ],
      [`${head}content-length: one\r\n\r\n`, /^request has a Content-Length or a Transfer-Encoding/],
      [`${head}transfer-encoding: chunked\r\n\r\nsize\r\n`, /^request has a body with a chunk whose size/],
      [`GET /${'a'.repeat(16_384)} HTTP/1.1\r\nhost: x\r\n\r\n`, /more than 16384 bytes/],
      [header(16_384), /more than 16384 bytes/],
    ] as const) {
      const answer = await server.send(bytes);
      assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/);
      assert.match(answer, /\r\nx-request-id: [0-9a-f-]{36}\r\n/);
      assert.match(answer, /\r\nx-content-type-options: nosniff\r\n/);
      const body: { error: string; message: string } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
      assert.equal(body.error, 'ERR_INVALID_REQUEST');
      assert.match(body.message, message);
    }
  });

  it('do not corrupt the answer to the request before them', async () => {
    const answer = await server.send('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\ngarbage\r\n\r\n');
    assert.equal(answer.match(/HTTP\/1\.1 /g)?.length, 1);
    assert.match(answer, /\{"status":"ok"\}$/);
  });

  it('are distinguished from a request without Host, which is answered in JSON', async () => {
    const answer = await server.send('GET /health/live HTTP/1.1\r\nconnection: close\r\n\r\n');
    assert.match(answer, /^HTTP\/1\.1 400 .*"headers\.host is missing\."/s);
  });

  it('are distinguished from a probe in HTTP/1.0 without Host, which the health routes answer, and no other', async () => {
    for (const path of ['/health/live', '/health/ready']) {
      assert.match(await server.send(`GET ${path} HTTP/1.0\r\n\r\n`), /^HTTP\/1\.1 200 .*"status":"ok"/s);
    }
    for (const request of ['GET /health/other', 'GET /openapi.json', 'POST /console/api/sign-in/challenge']) {
      const answer = await server.send(`${request} HTTP/1.0\r\n\r\n`);
      assert.match(answer, /^HTTP\/1\.1 400 .*"headers\.host is missing\."/s, request);
    }
  });
});

describe('the Expect header', () => {
  it('with 100-continue is honoured, and any other value ignored', async () => {
    const head = `POST /v1/flywheel/batch/init HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n`;
    assert.match(await server.send(`${head}expect: 100-continue\r\n\r\n`), /^HTTP\/1\.1 100 .*HTTP\/1\.1 401 /s);
    assert.match(await server.send(`${head}expect: the unexpected\r\n\r\n`), /^HTTP\/1\.1 401 /);
  });
});

describe('an incomplete body', () => {
  it('does not stop the server and logs no unexpected error', async () => {
    const admitted = Promise.withResolvers<void>();
    await using broken = await startTestServer({ touchApiKey: async () => admitted.resolve() });
    const accepted = once(broken.server.server, 'connection');
    const socket = connect(Number(new URL(broken.url).port), '127.0.0.1');
    socket.write(
      `POST /v1/flywheel/batch/init HTTP/1.1\r\nhost: x\r\nx-service-api-key: ${broken.apiKey}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"pipe`,
    );
    const [connection] = await accepted;
    await admitted.promise;
    const closed = once(connection, 'close');
    socket.destroy();
    await closed;
    assert.equal((await broken.fetch('/health/live')).status, 200);
    assert.doesNotMatch(broken.log(), /request failed/);
  });
});

describe('a request that does not arrive in time', () => {
  it('is answered with 408', async () => {
    const accepted = once(server.server.server, 'connection');
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.write('POST /v1/flywheel/batch/init HTTP/1.1\r\nhost: x\r\n');
    const [connection] = await accepted;
    // Node checks connections every five seconds, and emits this after thirty.
    const late = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    server.server.server.emit('clientError', late, connection);
    const answer = await text(socket);
    assert.match(answer, /^HTTP\/1\.1 408 Request Timeout\r\n.*"message":"request did not arrive in time\."/s);
  });
});

describe('the closing server', () => {
  it('finishes requests in flight with Connection: close, closes idle connections and accepts no new ones', async () => {
    const started = Promise.withResolvers<void>();
    await using closing = await startTestServer({
      handlers: {
        getCurrentBatch: async ({ closing: signal }) => {
          started.resolve();
          await once(signal, 'abort');
          return { status: 200, body: null };
        },
      },
    });
    const agent = new Agent({ keepAlive: true });
    // An idle connection that the client keeps would keep a server open for more than a minute.
    const idle = await get(agent, `${closing.url}/health/live`, {});
    assert.equal(idle.headers.connection, 'keep-alive');
    const inFlight = get(agent, `${closing.url}/v1/flywheel/batch/current`, { 'x-service-api-key': closing.apiKey });
    await started.promise;
    const startedAt = performance.now();
    await closing.server.close();
    assert.ok(performance.now() - startedAt < 30_000);
    const answer = await inFlight;
    assert.deepEqual([answer.status, answer.body, answer.headers.connection], [200, 'null', 'close']);
    await assert.rejects(fetch(`${closing.url}/health/live`));
    agent.destroy();
  });

  it('does not wait for connections that have sent no request or only part of one', async () => {
    await using closing = await startTestServer();
    const port = Number(new URL(closing.url).port);
    const accepted = once(closing.server.server, 'connection');
    const [silent, half] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
    half.write('GET /health/live HT');
    await accepted;
    await Promise.all([once(silent, 'connect'), once(half, 'connect')]);
    const hungUp = [silent, half].map(
      (socket) => new Promise((resolve) => socket.on('error', resolve).once('close', resolve)),
    );
    const startedAt = performance.now();
    await closing.server.close();
    assert.ok(performance.now() - startedAt < 30_000);
    await Promise.all(hungUp);
  });
});

function get(agent: Agent, url: string, headers: { readonly [name: string]: string }) {
  return new Promise<{ status: number | undefined; body: string; headers: NodeJS.Dict<string | string[]> }>(
    (resolve, reject) => {
      const sent = request(url, { agent, headers }, (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          body += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode, body, headers: response.headers }));
      });
      sent.on('error', reject);
      sent.end();
    },
  );
}
