import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { startTestServer, type TestServer } from '@flywheel/testing/test-server';
import { inlineMarkdown } from '../../src/http/docs/guide/inline-markdown.ts';
import { parseMarkdown } from '../../src/http/docs/guide/markdown.ts';
import { renderMarkdown } from '../../src/http/docs/guide/render-markdown.ts';
import { slug } from '../../src/http/docs/guide/slug.ts';

describe('the guide, served', () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer();
  });
  after(() => server[Symbol.asyncDispose]());

  it('leads from /docs to every page, and no link of any page leads nowhere', async () => {
    const pages = new Map<string, string>();
    const waiting = ['/docs'];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (pages.has(path)) continue;
      const response = await server.fetch(path, { apiKey: null });
      assert.equal(response.status, 200, path);
      pages.set(path, await response.text());
      if (!(response.headers.get('content-type') ?? '').startsWith('text/html')) continue;
      waiting.push(...linksOf(pages.get(path) ?? '', path).map(([linked]) => linked));
    }
    for (const path of ['/docs/guide', '/docs/operating', '/docs/errors', '/docs/decisions', '/docs/flywheel.svg']) {
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

  it('answers 404 for what is not one of its pages, wherever that leads in the file system', async () => {
    for (const path of [
      '/docs/nothing',
      '/docs/',
      '/docs/../package.json',
      '/docs/%2e%2e/package.json',
      '/docs/README',
    ]) {
      assert.equal((await server.fetch(path, { apiKey: null })).status, 404, path);
    }
  });
});

/** Links to this service’s own pages: path and anchor. */
function linksOf(page: string, from: string): [string, string][] {
  return [...page.matchAll(/(?:href|src)="([/#][^"]*)"/g)].map(([, target = '']) => {
    const [path = '', anchor = ''] = target.split('#', 2);
    return [path === '' ? from : path, anchor];
  });
}

describe('Markdown', () => {
  const render = (text: string) => renderMarkdown(parseMarkdown(text), (target) => target).markup.trim();

  it('is never markup of its own: whatever is written is escaped', () => {
    assert.equal(render('<b>&"\'</b>'), '<p>&lt;b&gt;&amp;&quot;&#39;&lt;/b&gt;</p>');
    assert.equal(render('```html\n<script>\n```'), '<pre tabindex="0"><code>&lt;script&gt;</code></pre>');
    assert.equal(
      inlineMarkdown('[a](x"onclick="y)', (target) => target).markup,
      '<a href="x&quot;onclick=&quot;y">a</a>',
    );
  });

  it('reads what our pages are written in', () => {
    assert.equal(
      render('a **b *c*** `d*e*` [f `g](h)`](i) \\*j\\*'),
      '<p>a <strong>b <em>c</em></strong> <code>d*e*</code> <a href="i">f <code>g](h)</code></a> *j*</p>',
    );
    assert.equal(
      render('- a\n  b\n- c\n  - d\n\n1. e\n2. f'),
      '<ul><li>a\nb</li><li>c<ul><li>d</li></ul>\n</li></ul>\n<ol><li>e</li><li>f</li></ol>',
    );
    assert.match(
      render('| a | b |\n|---|---|\n| `c\\|d` | e |'),
      /<th scope="col">a<\/th>.*<td><code>c\|d<\/code><\/td>/,
    );
    assert.equal(render('> a\n> b'), '<blockquote><p>a\nb</p>\n</blockquote>');
    assert.equal(render('text\n<!-- left\nout -->\nmore'), '<p>text</p>\n<p>more</p>');
    assert.throws(() => parseMarkdown('a\n```sh\nb'), /line 2 has no end/);
  });

  it('notes what the comment before code says', () => {
    const [code] = parseMarkdown('<!-- not run: it needs a key -->\n```sh\ntrue\n```');
    assert.deepEqual(code, { kind: 'code', language: 'sh', text: 'true', note: 'not run: it needs a key' });
  });

  it('gives headings the anchors that GitHub gives them', () => {
    assert.equal(slug('What to do when a bundle does not land?'), 'what-to-do-when-a-bundle-does-not-land');
    assert.equal(slug('`ERR_INVALID_REQUEST`, 400'), 'err_invalid_request-400');
    const ids = parseMarkdown('# A\n# A').map((block) => block.kind === 'heading' && block.id);
    assert.deepEqual(ids, ['a', 'a-1']);
  });
});
