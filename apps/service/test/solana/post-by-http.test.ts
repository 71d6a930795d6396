import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { after, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { callRpc, createRpcTransport, MAX_ANSWER_BYTES, RpcError, type TransportOptions } from '@flywheel/solana-rpc';
import { postByHttp } from '../../src/solana/post-by-http.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const RESULT = '{"jsonrpc":"2.0","id":1,"result":"é"}';
const KEY = 'key-of-a-provider';
const stops: (() => void)[] = [];
after(() => {
  for (const stop of stops) stop();
});

describe('postByHttp', () => {
  it('reads an answer, compressed or not', async () => {
    const plain = await nodeThat((_, response) => response.end(RESULT));
    assert.equal(await callRpc(plain.transport, 'get'), 'é');
    const packed = await nodeThat(({ headers }, response) => {
      const isAccepted = headers['accept-encoding'] === 'gzip';
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(isAccepted ? gzipSync(RESULT) : '');
    });
    assert.equal(await callRpc(packed.transport, 'get'), 'é');
  });

  it('keeps its connection for the next call', async () => {
    const ports = new Set<number | undefined>();
    const node = await nodeThat(({ socket }, response) => {
      ports.add(socket.remotePort);
      response.end(RESULT);
    });
    for (let i = 0; i < 3; i += 1) await callRpc(node.transport, 'get');
    assert.equal(ports.size, 1);
  });

  it('passes status, text and headers of a refusal on', async () => {
    const seen: (string | null)[] = [];
    const onHeaders = (headers: Headers) => void seen.push(headers.get('x-ratelimit-rps-limit'));
    const node = await nodeThat(
      (_, response) => response.writeHead(429, { 'x-ratelimit-rps-limit': '5', 'retry-after': '60' }).end('too many'),
      { onHeaders },
    );
    await assert.rejects(callRpc(node.transport, 'get'), /answered HTTP 429: too many \(attempt 1 of 4\)/);
    assert.deepEqual(seen, ['5']);
  });

  it('reports a connection that breaks, before an answer and half-way, without the key in the URL', async () => {
    const breaks: Handler[] = [
      (_, response) => response.destroy(),
      (_, response) => response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy()),
      (_, response) => response.writeHead(302, { location: `/elsewhere?api-key=${KEY}` }).end(),
    ];
    for (const handle of breaks) await assertFails(await nodeThat(handle, { maxAttempts: 1 }));
    const gone = await nodeThat(() => undefined, { maxAttempts: 1 });
    gone.stop();
    assert.match(await assertFails(gone), /is unreachable: .*ECONNREFUSED/);
  });

  it('ends when the node switches to another protocol', async () => {
    const node = await nodeThat(
      ({ socket }) => socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
      { maxAttempts: 1 },
    );
    assert.match(await assertFails(node), /is unreachable: .*closed without an answer/);
  });

  it('reads no more than a limit, as sent and decompressed', async () => {
    const packed = gzipSync(Buffer.alloc(MAX_ANSWER_BYTES + 1, ' '));
    let sentBytes = 0;
    const endless: Handler = (_, response) => {
      const more = () => {
        do sentBytes += packed.length;
        while (response.write(packed));
      };
      response.on('drain', more);
      more();
    };
    for (const handle of [
      endless,
      (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed),
    ] satisfies Handler[]) {
      assert.match(await assertFails(await nodeThat(handle, { maxAttempts: 1 })), /is unreachable: .*larger than/);
    }
    assert.ok(sentBytes < 2 * MAX_ANSWER_BYTES, `${sentBytes} bytes were sent`);
  });

  it('ends at the deadline, and when the caller aborts', async () => {
    const silent = await nodeThat(() => undefined, { timeoutMs: 20, maxAttempts: 1 });
    await assert.rejects(callRpc(silent.transport, 'get'), /gave no answer within 20 ms/);
    const abort = new AbortController();
    const node = await nodeThat(() => abort.abort(new Error('enough')));
    await assert.rejects(callRpc(node.transport, 'get', [], abort.signal), /^Error: enough$/);
  });
});

/** Starts a node, and a transport to it whose URL has a key and whose waits take no time. */
async function nodeThat(handle: Handler, options: Partial<TransportOptions> = {}) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => handle(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  stops.push(stop);
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const transport = createRpcTransport({
    url: `http://127.0.0.1:${address.port}/v2?api-key=${KEY}`,
    post: postByHttp,
    clock: { sleep: async () => undefined },
    ...options,
  });
  return { transport, stop };
}

/** Asserts that a call fails with an error that does not contain the key. @returns its text. */
async function assertFails({ transport }: Awaited<ReturnType<typeof nodeThat>>): Promise<string> {
  const error: unknown = await callRpc(transport, 'get').catch((thrown: unknown) => thrown);
  assert.ok(error instanceof RpcError, inspect(error));
  assert.ok(!inspect(error, { depth: 20, showHidden: true, maxStringLength: null }).includes(KEY));
  return error.message;
}
