import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { startTestServer, type TestServer } from '@flywheel/testing/test-server';
import { readSite, type Site } from '../../src/http/site.ts';

const PAGE = '<!doctype html><title>Flywheel</title>';
const SCRIPT = 'export const answer = 42;\n'.repeat(50);

describe('the console', () => {
  let directory: string;
  let site: Site | null;
  let server: TestServer;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'flywheel-site-'));
    await write('index.html', PAGE);
    await write('theme.js', 'void 0;');
    await write('assets/main-1a2b.js', SCRIPT);
    await write('assets/main-1a2b.js.br', brotliCompressSync(SCRIPT));
    await write('assets/main-1a2b.js.gz', gzipSync(SCRIPT));
    await write('.vite/manifest.json', '{}');
    site = await readSite(directory);
    server = await startTestServer({
      site,
      readConnectUrls: async () => ['https://rpc.example/secret-path', 'wss://rpc.example:8443'],
    });
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  async function write(path: string, content: string | Buffer) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), content);
  }

  it('answers with its page at each of its addresses', async () => {
    const router = await readFile(new URL('../../../console/src/app/router.tsx', import.meta.url), 'utf8');
    const routes = [...router.matchAll(/getParentRoute: \(\) => (root|project|company),\s+path: '([^']+)'/g)];
    assert.ok(routes.length > 10, `only ${routes.length} addresses were found`);
    const PARENTS: Readonly<Record<string, string>> = { root: '', project: '/p/x', company: '/company' };
    for (const [, parent, route = ''] of routes) {
      const path = `${PARENTS[parent ?? '']}${route.replace(/\$\w+/, 'y')}`;
      const response = await server.fetch(path, { apiKey: null });
      assert.deepEqual([path, response.status, await response.text()], [path, 200, PAGE]);
      assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
      assert.equal(response.headers.get('cache-control'), 'no-cache');
    }
  });

  it('answers 404 at any other address', async () => {
    for (const path of ['/nowhere', '/registers', '/vault', '/audit', '/assets/', '/assets/gone.js', '/index.html']) {
      const response = await server.fetch(path, { apiKey: null });
      assert.equal(response.status, 404, path);
      assert.equal(JSON.parse(await response.text()).error, 'ERR_ROUTE_NOT_FOUND', path);
    }
  });

  it('answers 404 with its page where a browser asks for an unknown address, and with JSON where a program does', async () => {
    const accept = 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8';
    for (const [path, method, isPage] of [
      ['/nowhere', 'GET', true],
      ['/docs/nowhere', 'GET', true],
      ['/nowhere', 'POST', false],
      ['/v1/nowhere', 'GET', false],
      ['/console/api/nowhere', 'GET', false],
      ['/assets/gone.js', 'GET', false],
    ] as const) {
      const response = await server.fetch(path, { method, apiKey: null, headers: { accept } });
      const text = await response.text();
      assert.deepEqual([path, response.status, text === PAGE], [path, 404, isPage]);
      assert.equal(response.headers.has('content-security-policy'), true);
    }
  });

  it('serves no file outside the build, and none of the build’s own', async () => {
    for (const path of ['/assets/%2e%2e/index.html', '/assets/..%2findex.html', '/.vite/manifest.json']) {
      assert.match(await server.send(`GET ${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`), /^HTTP\/1.1 404/);
    }
  });

  it('has a policy that allows only its own files and connections to the cluster', async () => {
    const response = await server.fetch('/', { apiKey: null });
    const directives = (response.headers.get('content-security-policy') ?? '').split('; ');
    assert.ok(directives.includes("default-src 'none'"));
    assert.ok(directives.includes("script-src 'self'"));
    assert.ok(directives.includes("style-src 'self'"));
    assert.ok(directives.includes("frame-ancestors 'none'"));
    assert.ok(directives.includes("connect-src 'self' https://rpc.example wss://rpc.example:8443"), String(directives));
  });

  describe('lets the page that audits a vault connect', () => {
    async function admitted(query: string, headers: Record<string, string> = {}): Promise<readonly string[]> {
      const response = await server.fetch(`/audit/7Fq2${query}`, { apiKey: null, headers });
      assert.deepEqual([response.status, await response.text()], [200, PAGE]);
      const [, sources = ''] = /connect-src ([^;]*)$/.exec(response.headers.get('content-security-policy') ?? '') ?? [];
      const [environment, ...nodes] = sources.split(' ');
      assert.equal(environment, `${server.url}/console/api/environment`);
      return nodes;
    }

    it('to the one node that its query names, or to the cluster’s, and to no operation that reads a session', async () => {
      assert.deepEqual(await admitted(''), ['https://rpc.example']);
      assert.deepEqual(await admitted('?from=1'), ['https://rpc.example']);
      for (const origin of ['https://node.example', 'https://10.0.0.7:8899', 'http://localhost:8899']) {
        assert.deepEqual(await admitted(`?rpc=${encodeURIComponent(origin)}`), [origin]);
        assert.deepEqual(await admitted(`?rpc=${origin}&to=2`), [origin]);
      }
    });

    it('to no node if the query names none strictly, or this service', async () => {
      const refused = [
        ...['', '*', 'https:', 'https://', 'https://*', 'https://*.example', 'https://node.example/', 'node.example'],
        ...['https://node.example/key', 'https://user:secret@node.example', 'https://node.example?key=1'],
        ...['https://Node.example', 'https://node.example:443', 'https://node.example:99999', 'https://node..example'],
        ...[
          'http://node.example',
          'wss://node.example',
          'javascript:alert(1)',
          'https://[::1]:8899',
          "'self'",
          "'unsafe-eval'",
        ],
        ...[
          'https://node.example;script-src https://evil.example',
          'https://node.example,',
          'https://node.example https://b.example',
        ],
        ...['https://node.example\r\nx: y', 'https://nöde.example', server.url, server.url.replace('http:', 'https:')],
        `https://${'a.'.repeat(200)}example`,
      ];
      for (const named of refused) assert.deepEqual(await admitted(`?rpc=${encodeURIComponent(named)}`), [], named);
      assert.deepEqual(await admitted('?rpc=https://a.example&rpc=https://b.example'), []);
    });

    it('and writes nothing of what was named into the log', async () => {
      await admitted('?rpc=https://secret-node.example');
      assert.doesNotMatch(server.log(), /secret-node/);
    });
  });

  it('serves its page also while the cluster’s address is unknown', async () => {
    await using alone = await startTestServer({ site, readConnectUrls: () => Promise.reject(new Error('no cluster')) });
    const response = await alone.fetch('/', { apiKey: null });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-security-policy') ?? '', /connect-src 'self'$/);
    assert.match(alone.log(), /no cluster/);
  });

  for (const [accept, encoding, decode] of [
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip;q=1, br;q=0', 'gzip', gunzipSync],
    ['identity', undefined, (bytes: Buffer) => bytes],
  ] as const) {
    it(`sends a file ${encoding ? `with ${encoding}` : 'unencoded'} to clients that accept ${accept}`, async () => {
      const { headers, body } = await get('/assets/main-1a2b.js', { 'accept-encoding': accept });
      assert.equal(headers['content-encoding'], encoding);
      assert.equal(headers.vary, 'accept-encoding');
      assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
      assert.equal(headers['content-type'], 'text/javascript; charset=utf-8');
      assert.equal(decode(body).toString(), SCRIPT);
    });
  }

  it('answers 304 to a client that has the same bytes, and sends them to others', async () => {
    const first = await get('/', {});
    const etag = String(first.headers.etag);
    assert.equal((await get('/', { 'if-none-match': `"other", W/${etag}` })).status, 304);
    assert.equal((await get('/', { 'if-none-match': '*' })).status, 304);
    assert.equal((await get('/', { 'if-none-match': '"other"' })).status, 200);
    const script = await get('/assets/main-1a2b.js', { 'accept-encoding': 'br' });
    const asGzip = { 'accept-encoding': 'gzip', 'if-none-match': String(script.headers.etag) };
    assert.equal((await get('/assets/main-1a2b.js', asGzip)).status, 200);
  });

  it('answers HEAD like GET without the body, and rejects other methods', async () => {
    const head = await server.fetch('/theme.js', { method: 'HEAD', apiKey: null });
    assert.deepEqual([head.status, head.headers.get('content-length')], [200, '7']);
    const post = await server.fetch('/register', { method: 'POST', apiKey: null });
    assert.deepEqual([post.status, post.headers.get('allow')], [405, 'GET, HEAD']);
  });

  it('says how to build it if it is not built, and everything else works', async () => {
    await using bare = await startTestServer({ site: await readSite(join(directory, 'nowhere')) });
    const response = await bare.fetch('/', { apiKey: null });
    assert.equal(response.status, 503);
    assert.match(await response.text(), /npm run build --workspace apps\/console/);
    assert.equal((await bare.fetch('/docs', { apiKey: null })).status, 200);
  });

  /** Sends a request and returns the raw answer, which fetch would decode. */
  function get(path: string, headers: Record<string, string>) {
    const { promise, resolve, reject } = Promise.withResolvers<{
      status: number | undefined;
      headers: NodeJS.Dict<string | string[]>;
      body: Buffer;
    }>();
    request(`${server.url}${path}`, { headers, agent: false }, async (response) => {
      const body = Buffer.concat(await Array.fromAsync(response));
      resolve({ status: response.statusCode, headers: response.headers, body });
    })
      .on('error', reject)
      .end();
    return promise;
  }
});
