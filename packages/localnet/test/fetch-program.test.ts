import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { type FetchOptions, fetchSquadsProgram, startLocalnet } from '../src/index.ts';

const LOADER = 'BPFLoaderUpgradeab1e11111111111111111111111';
const programFile = process.env.FLYWHEEL_SQUADS_PROGRAM ?? '';
const skip = existsSync(programFile) ? false : 'FLYWHEEL_SQUADS_PROGRAM names no file of the real program to serve';

const cases: readonly (readonly [what: string, account: Served | null, message: RegExp])[] = [
  [
    'other bytes',
    { content: programData(Buffer.from('other')) },
    /SHA-256 without trailing zeros is [0-9a-f]{64}, expected d4866083/,
  ],
  ['an upgrade authority', { content: programData(Buffer.from('other'), 1) }, /names an upgrade authority/],
  ['a truncated account', { content: Buffer.from([3, 0, 0, 0]) }, /is no program data: 4 bytes/],
  ['another owner', { content: programData(Buffer.from('other')), owner: 'Owner' }, /belongs to Owner/],
  ['no account', null, /does not exist/],
];

for (const [what, account, message] of cases) {
  test(`the program’s fetch rejects ${what}, and caches nothing`, async (t) => {
    const cacheDirectory = await temporaryDirectory(t);
    const rpcUrl = await serve(t, account);
    await assert.rejects(fetchSquadsProgram({ rpcUrl, cacheDirectory }), message);
    assert.deepEqual(await readdir(cacheDirectory), []);
  });
}

test('a fetch from an RPC node that does not answer in time fails', async (t) => {
  const rpcUrl = await serve(t, 'never');
  await assert.rejects(
    fetchSquadsProgram({ rpcUrl, timeoutMs: 50, cacheDirectory: await temporaryDirectory(t) }),
    /50 ms/,
  );
});

test('a fetch asks again while the node is overloaded', async (t) => {
  const rpcUrl = await serve(t, null, { overloaded: 1 });
  const cacheDirectory = await temporaryDirectory(t);
  await assert.rejects(fetchSquadsProgram({ rpcUrl, cacheDirectory }), /does not exist/);
});

for (const [what, account] of [
  ['has no program', null],
  ['does not answer', 'never'],
] as const) {
  test(`a fetch from a node that ${what} shows no more of its URL than the host`, async (t) => {
    const rpcUrl = new URL(await serve(t, account));
    const cacheDirectory = await temporaryDirectory(t);
    const url = `http://user:password-1@${rpcUrl.host}/path-secret-2?api-key=query-secret-3`;
    await assert.rejects(fetchSquadsProgram({ rpcUrl: url, timeoutMs: 500, cacheDirectory }), (error) => {
      const shown = inspect(error, { depth: Number.POSITIVE_INFINITY });
      assert.match(shown, new RegExp(rpcUrl.host));
      assert.doesNotMatch(shown, /password-1|secret-2|secret-3/);
      return true;
    });
  });
}

test('the deployed bytes are cached unchanged', { skip }, async (t) => {
  const cacheDirectory = await temporaryDirectory(t);
  const bytes = await readFile(programFile);
  const path = await fetchSquadsProgram({ rpcUrl: await serve(t, { content: programData(bytes) }), cacheDirectory });
  assert.deepEqual(await readFile(path), bytes);
  assert.equal((await readdir(cacheDirectory)).length, 1);
});

test('a cluster without the program fetches it and runs it', { skip }, async (t) => {
  const bytes = await readFile(programFile);
  const options = {
    rpcUrl: await serve(t, { content: programData(bytes) }),
    cacheDirectory: await temporaryDirectory(t),
  };
  const { program, programNote } = await started(t, options);
  assert.equal(program, 'squads-v4');
  assert.match(programNote, /is the real program, from the cache/);
  // The next start finds it in the cache and needs no RPC node.
  assert.equal((await started(t, { ...options, rpcUrl: 'http://127.0.0.1:9' })).program, 'squads-v4');
});

for (const [what, account, message] of [
  [
    'that is not it',
    { content: programData(Buffer.from('other')) },
    /emulated.*SHA-256 without trailing zeros is [0-9a-f]{64}, expected/,
  ],
  ['an RPC that does not answer', 'never', /emulated.* 50 ms/],
] as const) {
  test(`a cluster that finds ${what} runs the emulation and reports why`, async (t) => {
    const rpcUrl = await serve(t, account);
    const cacheDirectory = await temporaryDirectory(t);
    const { program, programNote } = await started(t, { rpcUrl, cacheDirectory, timeoutMs: 50 });
    assert.equal(program, 'emulation');
    assert.match(programNote, message);
    assert.deepEqual(await readdir(cacheDirectory), []);
  });
}

test('a cluster asks a node that is overloaded only once, so that its start does not wait', async (t) => {
  let requests = 0;
  const rpcUrl = await serve(t, null, { overloaded: Number.POSITIVE_INFINITY, onRequest: () => (requests += 1) });
  const { program } = await started(t, { rpcUrl, cacheDirectory: await temporaryDirectory(t) });
  assert.deepEqual([program, requests], ['emulation', 1]);
});

async function started(t: TestContext, fetchMissingProgram: FetchOptions) {
  const localnet = await startLocalnet({ slotMs: 0, fetchMissingProgram });
  t.after(() => localnet.stop());
  return localnet;
}

interface Served {
  readonly content: Buffer;
  readonly owner?: string;
}

function programData(bytes: Buffer, authority = 0): Buffer {
  const header = Buffer.alloc(45);
  header[0] = 3;
  header[12] = authority;
  header.fill(authority * 7, 13);
  return Buffer.concat([header, bytes]);
}

/** Serves the account. @param overloaded number of requests that are refused with HTTP 503 first. */
async function serve(
  t: TestContext,
  account: Served | 'never' | null,
  { overloaded = 0, onRequest }: { readonly overloaded?: number; readonly onRequest?: () => void } = {},
): Promise<string> {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    onRequest?.();
    if (account === 'never') return;
    if (requests <= overloaded) {
      response.writeHead(503).end();
      return;
    }
    const value = account && { owner: account.owner ?? LOADER, data: [account.content.toString('base64'), 'base64'] };
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { value } }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return `http://127.0.0.1:${port}`;
}

async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'flywheel-fetch-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
