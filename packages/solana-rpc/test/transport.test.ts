import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { after, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import {
  callRpc,
  createPacer,
  createRpcTransport,
  MAX_ANSWER_BYTES,
  RpcError,
  type TransportOptions,
} from '@flywheel/solana-rpc';
import { createSolanaRpcFromTransport } from '@solana/kit';

type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

const servers: (() => Promise<void>)[] = [];
after(() => Promise.all(servers.map((stop) => stop())));

/** Starts a node that answers as the handler does. @returns a transport to it whose waits take no time. */
async function nodeThat(handle: Handler, options: Partial<TransportOptions> & { readonly path?: string } = {}) {
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    request.resume().on('end', () => handle(request, response, count));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  servers.push(stop);
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const { path = '/', ...rest } = options;
  const host = `127.0.0.1:${address.port}`;
  const sleeps: number[] = [];
  const clock = { sleep: async (ms: number) => void sleeps.push(ms) };
  const url = path.startsWith('//') ? `http:${path.replace('HOST', host)}` : `http://${host}${path}`;
  const transport = createRpcTransport({ url, clock, timeoutMs: 10_000, ...rest });
  return { transport, sleeps, host, stop, requests: () => count };
}

const respond =
  (status: number, text: string, headers: Record<string, string> = {}): Handler =>
  (_, response) =>
    response.writeHead(status, headers).end(text);
const result = (text: string) => respond(200, `{"jsonrpc":"2.0","id":1,"result":${text}}`);

async function errorOf(call: Promise<unknown>): Promise<RpcError> {
  return call.then(
    () => assert.fail('It succeeded.'),
    (error: unknown) => {
      assert.ok(error instanceof RpcError, inspect(error));
      return error;
    },
  );
}

describe('createRpcTransport', () => {
  it('serves kit’s client and callRpc', async () => {
    const { transport } = await nodeThat(result('42'));
    assert.equal(await createSolanaRpcFromTransport(transport).getSlot().send(), 42n);
    assert.equal(await callRpc(transport, 'getSlot'), 42);
  });

  it('keeps every digit of an integer', async () => {
    const { transport } = await nodeThat(result('[18446744073709551615,7,1.5]'));
    assert.deepEqual(await callRpc(transport, 'get'), [18446744073709551615n, 7, 1.5]);
  });

  it('reads no more of an answer than a client can hold, as sent or decompressed', async () => {
    const large = `{"jsonrpc":"2.0","id":1,"result":3}${' '.repeat(MAX_ANSWER_BYTES)}`;
    const [packed, plain] = [gzipSync(large), Buffer.from(large)];
    for (const [bytes, headers] of [
      [packed, { 'content-encoding': 'gzip' }],
      [plain, {}],
    ] as const) {
      const options = { maxAttempts: 1, timeoutMs: 120_000 };
      const node = await nodeThat((_, response) => response.writeHead(200, headers).end(bytes), options);
      const { message } = await errorOf(callRpc(node.transport, 'getSlot'));
      assert.match(message, /The answer is larger than 67108864 bytes/);
    }
    const node = await nodeThat(result(`"ä${'€'.repeat(1_000_000)}"`));
    assert.equal(await callRpc(node.transport, 'getSlot'), `ä${'€'.repeat(1_000_000)}`);
  });

  it('retries HTTP 500 with growing waits, and throws after the last attempt', async () => {
    const node = await nodeThat(respond(503, 'overloaded'));
    const error = await errorOf(callRpc(node.transport, 'getSlot'));
    assert.equal(error.message, `${node.host} answered HTTP 503: overloaded (attempt 4 of 4)`);
    assert.deepEqual([error.reason, error.status, error.host], ['http-status', 503, node.host]);
    assert.deepEqual(node.sleeps, [250, 500, 1_000]);
    assert.equal(node.requests(), 4);
  });

  it('waits as long as Retry-After says, but not a minute', async () => {
    const patient = await nodeThat((request, response, count) =>
      count < 3
        ? respond(429, '', { 'retry-after': '3' })(request, response, count)
        : result('1')(request, response, count),
    );
    assert.equal(await callRpc(patient.transport, 'getSlot'), 1);
    assert.deepEqual(patient.sleeps, [3_000, 3_000]);
    const slow = await nodeThat(respond(429, 'slow down', { 'retry-after': '60' }));
    assert.match((await errorOf(callRpc(slow.transport, 'getSlot'))).message, /HTTP 429: slow down \(attempt 1 of 4\)/);
  });

  it('passes the headers of answers and refusals on', async () => {
    const seen: (string | null)[] = [];
    const onHeaders = (headers: Headers) => void seen.push(headers.get('x-ratelimit-rps-limit'));
    const node = await nodeThat(
      (request, response, count) =>
        count === 1
          ? respond(429, '', { 'x-ratelimit-rps-limit': '5' })(request, response, count)
          : result('1')(request, response, count),
      { onHeaders },
    );
    await callRpc(node.transport, 'getSlot');
    assert.deepEqual(seen, ['5', null]);
  });

  it('retries a broken connection and an answer that stops half-way', async () => {
    for (const fail of [
      (response: ServerResponse) => response.destroy(),
      (response: ServerResponse) =>
        response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy()),
    ]) {
      const node = await nodeThat((request, response, count) =>
        count === 1 ? fail(response) : result('5')(request, response, count),
      );
      assert.equal(await callRpc(node.transport, 'getSlot'), 5);
    }
  });

  it('ends an attempt at its deadline', async () => {
    const node = await nodeThat(() => undefined, { timeoutMs: 20, maxAttempts: 2 });
    const error = await errorOf(callRpc(node.transport, 'getSlot'));
    assert.equal(error.message, `${node.host} gave no answer within 20 ms (attempt 2 of 2)`);
    assert.equal(error.reason, 'timeout');
  });

  it('rejects with the signal’s reason if the caller aborts', async () => {
    const node = await nodeThat(() => abort.abort(new Error('enough')));
    const abort = new AbortController();
    await assert.rejects(callRpc(node.transport, 'getSlot', [], abort.signal), /^Error: enough$/);
    assert.equal(node.requests(), 1);
  });

  it('throws the node’s own message for a JSON-RPC error, and does not retry it', async () => {
    const data = '{"err":{"InstructionError":[3,{"Custom":6008}]},"logs":[]}';
    const node = await nodeThat(respond(200, `{"error":{"code":-32002,"message":"Simulation failed","data":${data}}}`));
    const error = await errorOf(callRpc(node.transport, 'sendTransaction'));
    assert.equal(error.message, 'Simulation failed (-32002): {"InstructionError":[3,{"Custom":6008}]}');
    assert.deepEqual(
      [error.reason, error.code, error.transactionError],
      ['node-error', -32002, '{"InstructionError":[3,{"Custom":6008}]}'],
    );
    assert.equal(node.requests(), 1);
  });

  it('rejects an answer that is not JSON-RPC', async () => {
    for (const text of ['<html>', 'null', '{}', '{"error":"no"}', '{"error":"no","result":1}', '[]']) {
      const { transport } = await nodeThat(respond(200, text));
      const error = await errorOf(callRpc(transport, 'getSlot'));
      assert.equal(error.reason, 'invalid-answer', text);
      assert.ok(error.message.includes(text));
    }
  });

  it('rejects an answer whose status is a redirection without an address', async () => {
    for (const status of [300, 304]) {
      const { transport } = await nodeThat(respond(status, '{"jsonrpc":"2.0","id":1,"result":1}'));
      const error = await errorOf(callRpc(transport, 'getSlot'));
      assert.deepEqual([error.reason, error.status], ['http-status', status]);
    }
  });

  it('starts requests at the turns of its pacer', async () => {
    const sleeps: number[] = [];
    const pacer = createPacer(1_000, { sleep: async (ms) => void sleeps.push(ms) });
    const node = await nodeThat(result('1'), { pacer });
    await Promise.all([callRpc(node.transport, 'a'), callRpc(node.transport, 'b'), callRpc(node.transport, 'c')]);
    await pacer.awaitIdle();
    assert.deepEqual(sleeps, [1_000, 1_000, 1_000]);
  });
});

describe('errors of the transport', () => {
  const SECRETS = ['in-the-path-00', 'in-the-query-0', 'the-user-0', 'the-pass 0', 'in-the-hash-00'];
  const PATH = '//the-user-0:the-pass%200@HOST/v2/in-the-path-00?api-key=in-the-query-0#in-the-hash-00';

  /**
   * Asserts that nothing of an error that a log or a terminal could print contains the secret: message, stack, causes,
   * own properties.
   */
  function assertNoSecret(value: unknown): void {
    const printed = inspect(value, { depth: 20, showHidden: true, maxStringLength: null });
    for (const secret of SECRETS) {
      for (const form of [secret, encodeURIComponent(secret)]) assert.ok(!printed.includes(form), printed);
    }
  }

  it('contain only the host of the URL, for every kind of failure', async () => {
    const warnings: unknown[] = [];
    const log = { warn: (...warning: unknown[]) => void warnings.push(warning) };
    const echo = SECRETS.concat(SECRETS.map(encodeURIComponent)).join(' ');
    const handlers: Handler[] = [
      respond(403, echo),
      respond(500, echo),
      respond(200, echo),
      respond(200, JSON.stringify({ error: { code: -32_000, message: echo } })),
      (_, response) => response.destroy(),
      (_, response) => response.writeHead(302, { location: `/elsewhere?key=${SECRETS[1]}` }).destroy(),
    ];
    for (const handle of handlers) {
      const node = await nodeThat(handle, { path: PATH, log });
      const error = await errorOf(callRpc(node.transport, 'getSlot'));
      assertNoSecret(error);
      if (error.reason !== 'node-error') assert.ok(error.message.includes(node.host), error.message);
    }
    assert.ok(warnings.length > 0);
    assertNoSecret(warnings);
    const gone = await nodeThat(() => undefined, { path: PATH });
    await gone.stop();
    const error = await errorOf(callRpc(gone.transport, 'getSlot'));
    assert.match(error.message, /is unreachable: .*ECONNREFUSED/);
    assertNoSecret(error);
  });

  it('contain no rest of a secret that begins with another one', async () => {
    const path = '/secret-of-the-path?api-key=secret-of-the-path-and-more';
    const { transport } = await nodeThat(respond(403, `No access for ${path}`), { path });
    const { message } = await errorOf(callRpc(transport, 'getSlot'));
    assert.match(message, / answered HTTP 403: No access for \/…\?… \(/);
  });

  it('contain only the host if the connection’s own error quotes the URL', async () => {
    const cause = new Error(`connect failed: http://one.example/in-the-path-00?api-key=in-the-query-0`);
    const post = () => Promise.reject(new TypeError('fetch failed', { cause }));
    const url = 'http://one.example/in-the-path-00?api-key=in-the-query-0';
    const error = await errorOf(callRpc(createRpcTransport({ url, post, maxAttempts: 1 }), 'getSlot'));
    assert.match(error.message, /^one\.example is unreachable: .*connect failed/);
    assertNoSecret(error);
  });

  it('do not quote an invalid URL', () => {
    assert.throws(
      () => createRpcTransport({ url: `in-the-path-00` }),
      (error: unknown) => {
        assertNoSecret(error);
        return error instanceof RangeError;
      },
    );
  });

  it('do not occur for a URL with user and password, which are sent as Basic authorization', async () => {
    let authorization: string | undefined;
    const node = await nodeThat(
      (request, response, count) => {
        ({ authorization } = request.headers);
        result('1')(request, response, count);
      },
      { path: PATH },
    );
    assert.equal(await callRpc(node.transport, 'getSlot'), 1);
    assert.equal(authorization, `Basic ${Buffer.from('the-user-0:the-pass 0').toString('base64')}`);
  });
});
