import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { CONSOLE_OPERATIONS, ERRORS, ErrorBody, OPERATIONS } from '@flywheel/api';
import { BATCH_ID, SESSION_TOKEN, startTestServer, type TestServer } from '@flywheel/testing/test-server';
import fc from 'fast-check';
import type { Site } from '../../src/http/site.ts';

const PAGE = { bytes: Buffer.from('<!doctype html>'), etag: '"1"' };
const SITE: Site = {
  files: new Map([['index.html', { contentType: 'text/html; charset=utf-8', encodings: { identity: PAGE } }]]),
};

let server: TestServer;
before(async () => {
  server = await startTestServer({ site: SITE });
});
after(() => server[Symbol.asyncDispose]());

const OPERATIONS_OF_BOTH = [...Object.values(OPERATIONS), ...Object.values(CONSOLE_OPERATIONS)];

describe('the server', () => {
  it('answers any request with a documented success, or an error of the catalogue with its status', async () => {
    await fc.assert(
      fc.asyncProperty(anyRequest(), async (bytes) => requireDocumented(await exchange(bytes))),
      { numRuns: 600 },
    );
  });

  it('answers any input of an operation, with valid credentials, in the same way', async () => {
    await fc.assert(
      fc.asyncProperty(anyCall(), async (bytes) => requireDocumented(await exchange(bytes))),
      { numRuns: 600 },
    );
  });

  it('answers any bytes in JSON or not at all', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 400 }), async (bytes) => {
        const answer = await exchange(Buffer.from(bytes));
        if (answer !== '') requireDocumented(answer);
      }),
      { numRuns: 200 },
    );
  });
});

function anyRequest(): fc.Arbitrary<Buffer> {
  return fc
    .record({
      method: fc.oneof(
        fc.constantFrom('GET', 'POST', 'DELETE'),
        fc.constantFrom(...METHODS.filter((method) => method !== 'CONNECT')),
      ),
      target: anyTarget(),
      headers: fc.dictionary(headerName(), headerValue(), { maxKeys: 6 }),
      body: anyBody(),
    })
    .map(({ method, target, headers, body }) => request(method, target, headers, body));
}

function anyCall(): fc.Arbitrary<Buffer> {
  return fc
    .record({
      operation: fc.constantFrom(...OPERATIONS_OF_BOTH),
      id: fc.oneof({ weight: 3, arbitrary: fc.constant(BATCH_ID) }, { weight: 1, arbitrary: segment() }),
      query: fc.oneof(fc.constant(''), fc.constantFrom('?include=pipelines', '?include=', '?include'), anyQuery()),
      headers: fc.dictionary(fc.constantFrom('prefer', 'x-request-id', 'accept', 'te', 'expect'), headerValue()),
      origin: fc.constantFrom('http://localhost', 'http://localhost', 'https://localhost', 'null'),
      idempotencyKey: fc.oneof(fc.constant(BATCH_ID), headerValue()),
      body: anyBody(),
    })
    .map(({ operation, id, query, headers, origin, idempotencyKey, body }) => {
      const target = operation.path.replaceAll(/\{\w+\}/g, id) + query;
      const credentials = {
        origin,
        'x-service-api-key': server.apiKey,
        cookie: `flywheel_session=${SESSION_TOKEN}`,
        'content-type': 'application/json',
        'x-idempotency-key': idempotencyKey,
      };
      return request(operation.method, target, { ...headers, ...credentials }, body);
    });
}

function anyTarget(): fc.Arbitrary<string> {
  const known = fc.constantFrom(
    ...OPERATIONS_OF_BOTH.map(({ path }) => path.replaceAll(/\{\w+\}/g, BATCH_ID)),
    ...['/', '/p/x/batches', '/assets/x.js', '/docs', '/openapi.json', '/health/live', '/health/ready'],
  );
  const arbitrary = fc.array(segment(), { maxLength: 6 }).map((segments) => `/${segments.join('/')}`);
  const absolute = fc.tuple(segment(), arbitrary).map(([host, path]) => `http://${host}${path}`);
  const path = fc.oneof(
    known,
    arbitrary,
    absolute,
    fc.constant('*'),
    segment().filter((text) => text !== ''),
  );
  return fc.tuple(path, fc.oneof(fc.constant(''), anyQuery())).map((parts) => parts.join(''));
}

/** Bytes of a request line, except those that end it. */
function segment(): fc.Arbitrary<string> {
  const unit = fc.oneof(
    fc.constantFrom('%', '%2f', '%00', '%ff', '%c3%28', '..', ':', ';', '#', '@', '{batchId}'),
    fc.constantFrom('é', '\x7f', 'a'),
    { weight: 8, arbitrary: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)) },
  );
  return fc.array(unit, { maxLength: 12 }).map((units) => units.join(''));
}

function anyQuery(): fc.Arbitrary<string> {
  return segment().map((text) => `?${text}`);
}

function headerName(): fc.Arbitrary<string> {
  const ours = ['x-service-api-key', 'content-type', 'cookie', 'origin', 'content-encoding', 'expect', 'x-request-id'];
  const nodes = ['upgrade', 'connection', 'te', 'trailer', 'accept-version', 'x-forwarded-host', 'range', 'if-match'];
  return fc.constantFrom(...ours, ...nodes, 'x-anything');
}

function headerValue(): fc.Arbitrary<string> {
  const known = ['application/json', 'text/plain', 'close', 'websocket', '100-continue', 'gzip', 'wait=5', BATCH_ID];
  const arbitrary = fc
    .array(fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff })), { maxLength: 40 })
    .map((codes) => String.fromCharCode(...codes));
  return fc.oneof(fc.constantFrom(...known), arbitrary);
}

function anyBody(): fc.Arbitrary<Buffer> {
  const hostile = [
    '{"__proto__":1}',
    '1e999',
    '-0',
    '"\\ud800"',
    '[[[[',
    '\ufeff{}',
    '{"batchId":"',
    'null',
    '{"a":1}{}',
  ];
  return fc.oneof(
    fc.json().map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom(...hostile).map((text) => Buffer.from(text)),
    fc
      .record({ batchId: fc.oneof(fc.constant(BATCH_ID), fc.string()), signedTx: fc.string({ unit: 'binary' }) })
      .map((body) => Buffer.from(JSON.stringify(body))),
    fc.constant(Buffer.alloc(0)),
  );
}

function request(method: string, target: string, headers: { readonly [name: string]: string }, body: Buffer): Buffer {
  const lines = Object.entries({ host: 'localhost', ...headers, 'content-length': String(body.length) });
  const head = `${method} ${target} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

/** Sends the bytes, then ends the sending half of the connection: the server answers what it received. */
function exchange(bytes: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', allowHalfOpen: true });
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('end', () => socket.end());
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')));
    // A reset may follow an answer that was sent before all bytes were read.
    socket.on('error', (error) => (chunks.length === 0 ? reject(error) : undefined));
    socket.end(bytes);
  });
}

function requireDocumented(exchanged: string): void {
  const answer = exchanged.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
  const head = answer.slice(0, answer.indexOf('\r\n\r\n'));
  const body = answer.slice(head.length + 4);
  assert.match(head, /\r\nx-request-id: \S/i, answer);
  assert.match(head, /\r\nx-content-type-options: nosniff/i, answer);
  if (status === 200 || status === 202 || (status === 204 && body === '')) return;
  if (status === 302) {
    assert.match(head, /\r\nlocation: \/docs\/api\//, 'only /docs redirects');
    return;
  }
  assert.match(head, /\r\ncontent-type: application\/json; charset=utf-8/i, answer);
  if (body === '') {
    assert.match(head, /\r\ncontent-length: [1-9]/i, 'only HEAD is answered without a body');
    return;
  }
  const { error } = ErrorBody.strict().parse(JSON.parse(body));
  assert.equal(ERRORS[error as keyof typeof ERRORS]?.status, status, answer);
  assert.ok(status < 500, answer);
}
