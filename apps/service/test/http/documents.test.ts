import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { CONSOLE_OPERATIONS, ERRORS, OPERATIONS, type Operation, openapi } from '@flywheel/api';
import { startTestServer } from '@flywheel/testing/test-server';
import type * as z from 'zod';
import { EXAMPLES, type Example } from '../../src/http/docs/examples.ts';

const ALL: { readonly [id: string]: Operation } = { ...OPERATIONS, ...CONSOLE_OPERATIONS };

describe('/openapi.json', () => {
  it('is the catalogue’s own description', async () => {
    await using server = await startTestServer();
    const response = await server.fetch('/openapi.json', { apiKey: null });
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.deepEqual(await response.json(), JSON.parse(JSON.stringify(openapi())));
  });
});

describe('/docs', () => {
  it('shows every operation and every code, without a script or anything from elsewhere', async () => {
    await using server = await startTestServer();
    const response = await server.fetch('/docs', { apiKey: null });
    const page = await response.text();
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
    for (const [id, { path, method }] of Object.entries(ALL)) {
      assert.match(page, new RegExp(`<section id="${id}">`));
      assert.ok(page.includes(`<span class="method ${method}">${method}</span>${path}`), id);
    }
    for (const code of Object.keys(ERRORS)) assert.match(page, new RegExp(`<code id="${code}">`));
    assert.doesNotMatch(page, /<script|\son\w+=|style="|https?:\/\/(?!www\.w3\.org)/);
    for (const [, target = ''] of page.matchAll(/href="#([^"]+)"/g)) {
      assert.ok(page.includes(`id="${target}"`), `#${target} leads nowhere`);
    }
  });

  it('allows itself its own style and nothing else', async () => {
    await using server = await startTestServer();
    const response = await server.fetch('/docs', { apiKey: null });
    const style = /<style>([\s\S]*)<\/style>/.exec(await response.text())?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    const policy = response.headers.get('content-security-policy') ?? '';
    assert.ok(policy.startsWith(`default-src 'none'; style-src 'sha256-${hash}';`), policy);
    assert.match(policy, /frame-ancestors 'none'/);
  });

  it('gives examples that the operations themselves would take and answer', () => {
    for (const id of Object.keys(OPERATIONS)) assert.ok(id in EXAMPLES, `${id} has no example`);
    for (const [id, { request, reply }] of Object.entries<Example>(EXAMPLES)) {
      const operation: Operation | undefined = ALL[id];
      assert.ok(operation, `${id} is no operation`);
      for (const part of ['headers', 'params', 'query', 'body'] as const) {
        const schema: z.ZodType | undefined = operation[part];
        const parsed: z.ZodSafeParseResult<unknown> | undefined = schema?.safeParse(
          request[part] ?? (part === 'body' ? undefined : {}),
        );
        assert.equal(parsed?.success ?? request[part] === undefined, true, `${id}: ${part} ${parsed?.error?.message}`);
      }
      const answered = operation.responses[reply.status]?.schema.safeParse(reply.body);
      assert.equal(answered?.success, true, `${id}: answer ${answered?.error?.message}`);
    }
  });
});

describe('/health', () => {
  it('/live answers while the process does', async () => {
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

  it('/ready answers 503 naming the check that fails or hangs, its cause for the log alone', async () => {
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
