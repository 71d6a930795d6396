import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { openapi } from '@flywheel/api/openapi';
import { startTestServer } from '@flywheel/testing/test-server';

describe('/openapi.json', () => {
  it('is the OpenAPI document of the service, with the requested origin as its server', async () => {
    await using server = await startTestServer();
    const response = await server.fetch('/openapi.json', { apiKey: null });
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.deepEqual(await response.json(), JSON.parse(JSON.stringify(openapi(new URL(response.url).origin))));
  });

  it('is built once, so that a flood of requests does not stop the others', async (t) => {
    await using server = await startTestServer();
    const { mock } = t.mock.method(JSON, 'stringify');
    for (let i = 0; i < 25; i++) {
      const response = await server.fetch('/openapi.json', { headers: { host: `host-${i}` } });
      assert.equal(response.status, 200);
      await response.text();
    }
    const written = mock.calls.filter(({ arguments: [value] }) => Object(value).openapi !== undefined);
    assert.ok(written.length <= 1, `25 requests wrote ${written.length} descriptions`);
  });
});

describe('/docs', () => {
  it('redirects to the API reference, whose page names no other host', async () => {
    await using server = await startTestServer();
    const response = await server.fetch('/docs', { apiKey: null });
    assert.equal(new URL(response.url).pathname, '/docs/api/');
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
    const page = await response.text();
    assert.match(page, /<html lang="en">/);
    assert.doesNotMatch(page, /https?:\/\/(?!www\.w3\.org)/);
  });

  it('allows the API reference its own script and requests to /v1/ and /openapi.json, and nothing else', async () => {
    await using server = await startTestServer();
    const response = await server.fetch('/docs/api/', { apiKey: null });
    const { origin } = new URL(response.url);
    const [, script = ''] = /<script type="text\/javascript">([\s\S]*?)<\/script>/.exec(await response.text()) ?? [];
    const hash = createHash('sha256').update(script).digest('base64');
    assert.deepEqual(response.headers.get('content-security-policy')?.split('; '), [
      "default-src 'none'",
      `script-src ${origin}/docs/api/js/scalar.js 'sha256-${hash}'`,
      "style-src 'unsafe-inline'",
      "img-src 'self' data:",
      `connect-src ${origin}/v1/ ${origin}/openapi.json`,
      "worker-src 'none'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'none'",
    ]);
    assert.equal(response.headers.get('cross-origin-opener-policy'), 'unsafe-none');
  });

  it('sends the script of the API reference compressed, once per version', async () => {
    await using server = await startTestServer();
    const first = await server.fetch('/docs/api/js/scalar.js', { apiKey: null });
    assert.equal(first.headers.get('content-encoding'), 'gzip');
    const script = await first.text();
    assert.ok(script.length > 1_000_000, `${script.length} characters`);
    const etag = first.headers.get('etag') ?? '';
    // Proxies that compress responses weaken the tag.
    for (const known of [etag, `"other", W/${etag}`]) {
      const again = await server.fetch('/docs/api/js/scalar.js', { apiKey: null, headers: { 'if-none-match': known } });
      assert.deepEqual([again.status, await again.text()], [304, '']);
    }
  });
});

describe('/health', () => {
  it('/live answers while the process runs', async () => {
    await using server = await startTestServer({ readiness: { database: () => Promise.reject(new Error('down')) } });
    const response = await server.fetch('/health/live', { apiKey: null });
    assert.deepEqual([response.status, await response.json()], [200, { status: 'ok' }]);
  });

  it('/ready answers 200 when every check passes', async () => {
    await using server = await startTestServer({ readiness: { database: async () => 1, cluster: async () => 2 } });
    const response = await server.fetch('/health/ready', { apiKey: null });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('cache-control'), 'no-store');
    const { status, checks } = JSON.parse(await response.text());
    assert.deepEqual([status, checks.database.status, checks.cluster.status], ['ok', 'ok', 'ok']);
  });

  it('/ready answers all who ask at once from one check', async () => {
    let checks = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cluster = () => {
      checks += 1;
      return promise;
    };
    await using server = await startTestServer({ readiness: { cluster } });
    let asked = 0;
    server.server.server.on('request', () => {
      asked += 1;
      if (asked === 3) setImmediate(resolve);
    });
    const answers = Array.from({ length: 3 }, () => server.fetch('/health/ready', { apiKey: null }));
    for (const answer of answers) assert.equal((await answer).status, 200);
    assert.equal(checks, 1);
  });

  it('/ready answers 503 with the check that fails or hangs, and logs the cause', async () => {
    await using server = await startTestServer({
      readiness: {
        database: () => Promise.reject(new Error('password authentication failed for user flywheel')),
        broken: () => {
          throw new Error('at once');
        },
        cluster: () => new Promise(() => undefined),
      },
    });
    const response = await server.fetch('/health/ready', { apiKey: null });
    assert.equal(response.status, 503);
    const text = await response.text();
    assert.doesNotMatch(text, /password/);
    assert.match(server.log(), /password authentication failed/);
    const { status, checks } = JSON.parse(text);
    assert.equal(status, 'unavailable');
    assert.deepEqual(
      [checks.database.status, checks.broken.status, checks.cluster.status],
      ['failed', 'failed', 'timed out'],
    );
  });
});
