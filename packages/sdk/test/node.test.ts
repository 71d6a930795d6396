import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { connectFromEnvironment, readWallet, serve } from '@flywheel/sdk/node';

it('connectFromEnvironment names the variable that is missing, and lets no other service have the default node', async () => {
  const FLYWHEEL_API_KEY = 'fw_key';
  await assert.rejects(connectFromEnvironment({}), /^Error: FLYWHEEL_API_KEY is not set/);
  await assert.rejects(
    connectFromEnvironment({ FLYWHEEL_API_KEY, FLYWHEEL_URL: 'https://flywheel.example' }),
    /^Error: FLYWHEEL_URL is set without SOLANA_RPC_URL/,
  );
});

it('connectFromEnvironment tells a local cluster from a public one by its genesis hash', async () => {
  for (const [genesisHash, isLocalCluster] of [
    ['5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d', false],
    ['EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG', false],
    ['7Fq2bYtmWpQh1dS9xkX4rGz8uVnE3cJaLo5sTiR69dKe', true],
  ] as const) {
    const node = await open(async (request) => {
      const { id, method } = JSON.parse(await request.text());
      return Response.json({ jsonrpc: '2.0', id, result: method === 'getHealth' ? 'ok' : genesisHash });
    });
    const environment = { FLYWHEEL_API_KEY: 'fw_key', SOLANA_RPC_URL: ` ${node.url} , ${node.url}` };
    const connection = await connectFromEnvironment(environment);
    assert.deepEqual([connection.rpcUrl, connection.isLocalCluster], [[node.url, node.url], isLocalCluster]);
    await node.close();
  }
});

it('readWallet quotes no byte of a file that is not a keypair', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'flywheel-wallet-'));
  const path = join(folder, 'wallet.json');
  for (const [text, message] of [
    ['secret', /expected a JSON array of 64 numbers from 0 to 255, found something else\.$/],
    ['[1,2]', /found 2 values\.$/],
    [JSON.stringify(new Array(64).fill(7)), /its public key does not match its private key\.$/],
  ] as const) {
    await writeFile(path, text);
    await assert.rejects(readWallet(path), (error: Error) => {
      assert.match(error.message, message);
      return !error.message.includes('secret');
    });
  }
  await rm(folder, { recursive: true });
});

it('serve hands over method, path, headers and body, and answers with status, headers and body', async () => {
  const server = await open(async (request) => {
    const { pathname, search } = new URL(request.url);
    const told = [request.method, pathname + search, request.headers.get('x-name'), await request.text()];
    return Response.json(told, { status: 202, headers: { 'x-answer': 'yes' } });
  });
  const headers = { 'x-name': 'Ada' };
  const posted = await fetch(`${server.url}/a?b=c`, { method: 'POST', headers, body: 'grüße' });
  assert.deepEqual([posted.status, posted.headers.get('x-answer')], [202, 'yes']);
  assert.deepEqual(await posted.json(), ['POST', '/a?b=c', 'Ada', 'grüße']);
  assert.deepEqual(await (await fetch(server.url)).json(), ['GET', '/', null, '']);
  await server.close();
});

it('serve answers 500 for what its handler throws and 413 for a large body, and goes on', async () => {
  const server = await open(async (request) => {
    if ((await request.text()) === 'bad') throw new Error('no disk');
    return new Response(null, { status: 204 });
  });
  const statusOf = async (body: string) => (await fetch(server.url, { method: 'POST', body })).status;
  assert.deepEqual(
    [await statusOf('bad'), await statusOf('x'.repeat(1024 * 1024 + 1)), await statusOf('ok')],
    [500, 413, 204],
  );
  assert.deepEqual(server.errors, ['Error: no disk']);
  await server.close();
});

it('serve aborts the signal of a request whose client hangs up, and not of an answered one', async () => {
  const answered: AbortSignal[] = [];
  const aborted = Promise.withResolvers<void>();
  const server = await open(async ({ url, signal }) => {
    if (url.endsWith('/answered')) answered.push(signal);
    else {
      client.abort();
      await once(signal, 'abort');
      aborted.resolve();
    }
    return new Response();
  });
  const client = new AbortController();
  await (await fetch(`${server.url}/answered`)).text();
  await assert.rejects(fetch(`${server.url}/waits`, { signal: client.signal }));
  await aborted.promise;
  await server.close();
  assert.deepEqual(
    answered.map((signal) => signal.aborted),
    [false],
  );
});

it('serve names a port that is taken', async () => {
  const server = await open(async () => new Response());
  const port = Number(new URL(server.url).port);
  await assert.rejects(
    serve(async () => new Response(), { port, onError: assert.ifError }),
    /EADDRINUSE/,
  );
  await server.close();
});

async function open(handle: (request: Request) => Promise<Response>) {
  const errors: string[] = [];
  const { url, stop } = await serve(handle, { port: 0, onError: (error) => errors.push(String(error)) });
  return { url, errors, close: stop };
}
