import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startTestServer, type TestServer } from '@flywheel/testing/test-server';
import { readGuide } from '../../src/http/docs/guide.ts';

describe('the served guide', () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer();
  });
  after(() => server[Symbol.asyncDispose]());

  it('links every page, and has no broken link', async () => {
    const pages = new Map<string, string>();
    const waiting = ['/docs/guide'];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (pages.has(path)) continue;
      const response = await server.fetch(path, { apiKey: null });
      assert.equal(response.status, 200, path);
      pages.set(path, await response.text());
      if (!(response.headers.get('content-type') ?? '').startsWith('text/html')) continue;
      waiting.push(...linksOf(pages.get(path) ?? '', path).map(([linked]) => linked));
    }
    for (const path of [
      ...['/docs/guide', '/docs/operating', '/docs/errors', '/docs/decisions', '/docs/flywheel.svg'],
      ...['/docs/examples/run-batch.ts', '/docs/examples/approve.py', '/docs/examples/verify_proof.py'],
    ]) {
      assert.ok(pages.has(path), `${path} is linked from nowhere`);
    }
    for (const [path, page] of pages) {
      for (const [linked, anchor] of linksOf(page, path)) {
        if (anchor === '') continue;
        assert.ok(pages.get(linked)?.includes(`id="${anchor}"`), `${path} links to ${linked}#${anchor}`);
      }
    }
  });

  it('allows its pages their own style and images, and nothing else', async () => {
    for (const path of ['/docs/guide', '/docs/examples/run-batch.ts']) {
      const response = await server.fetch(path, { apiKey: null });
      const page = await response.text();
      const style = /<style>([\s\S]*)<\/style>/.exec(page)?.[1] ?? '';
      const hash = createHash('sha256').update(style).digest('base64');
      const policy = response.headers.get('content-security-policy') ?? '';
      assert.ok(policy.startsWith(`default-src 'none'; style-src 'sha256-${hash}'; img-src 'self' data:;`), policy);
      assert.doesNotMatch(page, /<script|\son\w+=|style="/);
    }
  });

  it('redirects to the page from the same path with a slash at its end', async () => {
    for (const [path, target] of [
      ['/docs/', '/docs'],
      ['/docs/guide/', '/docs/guide'],
      ['/docs/operating/?x=1', '/docs/operating?x=1'],
    ] as const) {
      const response = await server.fetch(path, { apiKey: null, redirect: 'manual' });
      assert.deepEqual([response.status, response.headers.get('location')], [308, target]);
    }
  });

  it('answers 404 for every other path, wherever it points in the file system', async () => {
    for (const path of [
      '/docs/nothing',
      '/docs/nothing/',
      '/docs/guide//',
      '/docs/../package.json',
      '/docs/%2e%2e/package.json',
      '/docs/README',
    ]) {
      assert.equal((await server.fetch(path, { apiKey: null })).status, 404, path);
    }
  });
});

/** Collects links to this service's own pages, as path and anchor. */
function linksOf(page: string, from: string): [string, string][] {
  return [...page.matchAll(/(?:href|src)="([/#][^"]*)"/g)].map(([, target = '']) => {
    const [path = '', anchor = ''] = target.split('#', 2);
    return [path === '' ? from : path, anchor];
  });
}

describe('readGuide', () => {
  let root: string;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'flywheel-guide-'));
    await mkdir(join(root, 'docs'));
  });
  after(() => rm(root, { recursive: true }));

  async function render(markdown: string): Promise<string> {
    await writeFile(join(root, 'docs/page.md'), markdown);
    const found = readGuide(root).get('page');
    assert.ok(found?.kind === 'page');
    return /<article>([\s\S]*)<\/article>/.exec(found.page.html)?.[1] ?? '';
  }

  it('shows HTML as text and leaves comments out', async () => {
    assert.equal(await render('a <b>b</b>'), '<p>a &lt;b&gt;b&lt;/b&gt;</p>\n');
    assert.equal(await render('<script>alert(1)</script>'), '&lt;script&gt;alert(1)&lt;/script&gt;');
    assert.equal(await render('text\n\n<!-- left\nout -->\n\nmore'), '<p>text</p>\n<p>more</p>\n');
    assert.equal(await render('```html\n<i>\n```'), '<pre tabindex="0"><code>&lt;i&gt;</code></pre>\n');
    assert.doesNotMatch(await render('[a](javascript:alert(1))'), /href/);
  });

  it('links pages by address, and shows a link to a file that is not served as its text', async () => {
    assert.equal(await render('[this](page.md#a)'), '<p><a href="/docs/page#a">this</a></p>\n');
    assert.equal(await render('[source](../apps/service/src/main.ts)'), '<p>source</p>\n');
    assert.equal(await render('[reference](openapi.json)'), '<p><a href="/docs">reference</a></p>\n');
  });

  it('gives headings the ids that GitHub gives them', async () => {
    const page = await render('# `ERR_A`, 400\n\n## What to do when a bundle does not land?\n\n## A\n\n## A');
    assert.deepEqual(
      [...page.matchAll(/<h\d id="([^"]+)"/g)].map(([, id]) => id),
      ['err_a-400', 'what-to-do-when-a-bundle-does-not-land', 'a', 'a-1'],
    );
  });
});
