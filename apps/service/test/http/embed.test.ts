import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ApiError } from '@flywheel/api';
import { startTestServer, type TestServer } from '@flywheel/testing/test-server';
import type { VaultFigures } from '../../src/proofs/vault-figures.ts';

const VAULT = '7Fq2JcRzXGqVxvQkLd1ZcLk5yZpZ3vKjz1CqVZ9h9dKe';
const HOSTILE = '"><script>alert(1)</script>&\'';

describe('badge and widget of a vault', () => {
  let server: TestServer;
  let figures: VaultFigures;
  before(async () => {
    server = await startTestServer({
      addressLimits: {
        count: () => {
          throw new ApiError('ERR_RATE_LIMITED', { requests: 1, seconds: 60, retryAfterSeconds: 60 });
        },
        requireSearch: async () => () => undefined,
      },
      readVaultFigures: async (address, admit) => {
        if (address !== VAULT) admit();
        return figures;
      },
    });
    figures = figuresOf({});
  });
  after(() => server[Symbol.asyncDispose]());

  function get(path: string, headers: Record<string, string> = {}) {
    return server.fetch(`/embed/${path}`, { apiKey: null, headers: { cookie: 'session=of-somebody', ...headers } });
  }

  it('show the amount, and the widget the last proof with links out of its frame', async () => {
    const badge = await (await get(`${VAULT}/badge.svg`)).text();
    assert.match(badge, /aria-label="burned: 1,234\.5 FLY"/);
    const widget = await (await get(VAULT)).text();
    assert.match(widget, /1,234\.5 <bdi>FLY<\/bdi>/);
    assert.match(widget, /<code>WATCH_AD<\/code>.*2026-11-21 12:00 UTC/s);
    assert.match(widget, /href="\/proof\?signature=abc" target="_blank" rel="noopener noreferrer"/);
    figures = figuresOf({ lastProof: null, symbol: null });
    assert.match(await (await get(VAULT)).text(), /<bdi>tokens<\/bdi>.*No proof yet/s);
    assert.match(await (await get(`${VAULT}?theme=dark`)).text(), /<html lang="en" class="dark">/);
    assert.doesNotMatch(await (await get(`${VAULT}?theme="><script>`)).text(), /<html[^>]*class|<script/);
    figures = figuresOf({});
  });

  it('show hostile text as text', async () => {
    const lastProof = { type: HOSTILE, hash: HOSTILE, at: new Date(0), signature: HOSTILE };
    figures = figuresOf({ symbol: HOSTILE, lastProof });
    for (const path of [VAULT, `${VAULT}/badge.svg`]) {
      const body = await (await get(path)).text();
      assert.doesNotMatch(body, /<script/, path);
      assert.match(body, /&quot;&gt;&lt;script&gt;/, path);
    }
    figures = figuresOf({});
  });

  it('load and run nothing, are cached, and have no cookie; only the widget may be framed', async () => {
    const [widget, badge] = await Promise.all([get(VAULT), get(`${VAULT}/badge.svg`)]);
    const policy = widget.headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[\w+/=]+'; base-uri 'none'; form-action 'none'; /);
    assert.match(policy, /frame-ancestors \*; sandbox allow-popups allow-popups-to-escape-sandbox$/);
    assert.equal(badge.headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'");
    for (const { headers } of [widget, badge]) {
      assert.equal(headers.get('cache-control'), 'public, max-age=60');
      assert.equal(headers.get('cross-origin-resource-policy'), 'cross-origin');
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('set-cookie'), null);
    }
    assert.match(widget.headers.get('content-type') ?? '', /^text\/html/);
    assert.equal(badge.headers.get('content-type'), 'image/svg+xml');
    for (const path of ['/', `/vault/${VAULT}`, '/proof', '/docs/guide', '/openapi.json', '/embed/x/y']) {
      const { headers } = await server.fetch(path, { apiKey: null });
      assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/, path);
    }
  });

  it('are answered 304 while nothing has changed', async () => {
    for (const path of [VAULT, `${VAULT}/badge.svg`]) {
      figures = figuresOf({});
      const etag = (await get(path)).headers.get('etag') ?? assert.fail();
      const same = await get(path, { 'if-none-match': `"other", W/${etag}` });
      assert.deepEqual([same.status, await same.text()], [304, '']);
      figures = figuresOf({ burned: '1235' });
      assert.equal((await get(path, { 'if-none-match': etag })).status, 200);
    }
    figures = figuresOf({});
  });

  it('are refused, like all pages, above the limit of an address, which what is remembered does not touch', async () => {
    assert.equal((await get(VAULT)).status, 200);
    const refused = await get('another');
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get('retry-after'), '60');
    assert.match(refused.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
  });
});

function figuresOf(changes: Partial<VaultFigures>): VaultFigures {
  const lastProof = {
    type: 'WATCH_AD',
    hash: 'a'.repeat(64),
    at: new Date('2026-11-21T12:00:00.000Z'),
    signature: 'abc',
  };
  return { vault: VAULT, mint: VAULT, symbol: 'FLY', burned: '1234.5', lastProof, ...changes };
}
