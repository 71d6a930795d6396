import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { settingRows } from '@flywheel/service/internal/config.ts';
import { parseMarkdown } from '@flywheel/service/internal/http/docs/guide.ts';
import { SQUADS_PROGRAM_SHA256 } from '@flywheel/squads';
import { TOPICS } from '../../apps/cli/src/commands/doctor/check.ts';
import { ROOT } from './code-blocks.ts';
import { THIEVES } from './thieves.ts';

describe('the documents', () => {
  it('link to files and headings that exist', async () => {
    const broken: string[] = [];
    for await (const page of glob('{*.md,docs/**/*.md}', { cwd: ROOT })) {
      const text = withoutCode(await readFile(join(ROOT, page), 'utf8'));
      for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target)) continue;
        const [path = '', anchor] = target.split('#', 2);
        const file = path === '' ? page : join(dirname(page), path);
        const isThere = existsSync(join(ROOT, file));
        if (!isThere || (anchor !== undefined && !(await anchorsOf(file)).has(anchor)))
          broken.push(`${page}: ${target}`);
      }
    }
    assert.deepEqual(broken, []);
  });

  it('are all in the list beside every page', async () => {
    const list = await readFile(join(ROOT, 'docs/README.md'), 'utf8');
    const listed = new Set([...list.matchAll(/^- \[[^\]]+\]\(([^)]+)\)/gm)].map(([, target]) => target));
    const pages = await Array.fromAsync(glob(['*.md', 'how-to/*.md'], { cwd: join(ROOT, 'docs') }));
    const missing = pages.filter((page) => page !== 'README.md' && !listed.has(page));
    assert.deepEqual(missing, []);
  });

  it('list every decision', async () => {
    const index = await readFile(join(ROOT, 'docs/decisions/README.md'), 'utf8');
    const listed = [...index.matchAll(/\]\((\d{4}-[^)]+)\)/g)].map(([, name]) => name);
    assert.deepEqual(listed, (await Array.fromAsync(glob('0*.md', { cwd: join(ROOT, 'docs/decisions') }))).toSorted());
  });

  it('list every setting of the service with its default in the configuration', async () => {
    const operating = await readFile(join(ROOT, 'docs/operating.md'), 'utf8');
    assert.deepEqual(operating.match(/^\| `[A-Z][A-Z_]+` \|.*$/gm), settingRows());
  });

  it('have a checklist for production with the checks of flywheel doctor, in its order', async () => {
    const page = await readFile(join(ROOT, 'docs/how-to/run-in-production.md'), 'utf8');
    assert.deepEqual(
      [...page.matchAll(/^- \*\*`([^`]+)`\*\* /gm)].map(([, name]) => name),
      TOPICS,
    );
    assert.ok(page.includes(SQUADS_PROGRAM_SHA256));
  });

  it('say of each thief only what a test holds', async () => {
    const security = await readFile(join(ROOT, 'docs/security.md'), 'utf8');
    const [, table = ''] = /^\| stolen \| can \| cannot \|\n.*\n((?:\|.*\n)+)/m.exec(security) ?? [];
    const rows = table.trim().split('\n');
    const cells = rows.map((row) => row.replaceAll("'", '’').split('|').slice(1, -1));
    const stated = cells.map(([thief = '', , cannot = '']) => [
      thief.trim(),
      cannot.split(';').map((part) => part.trim()),
    ]);
    const held = Object.entries(THIEVES).map(([thief, { cannot }]) => [thief, Object.keys(cannot)]);
    assert.deepEqual(stated, held);
    const references = Object.values(THIEVES).flatMap(({ can, cannot }) => [can, ...Object.values(cannot)]);
    assert.ok(references.every(({ length }) => length > 0));
    const missing: string[] = [];
    for (const [file, title] of references.flat()) {
      const isThere = existsSync(join(ROOT, file)) && (await readFile(join(ROOT, file), 'utf8')).includes(title);
      if (!isThere) missing.push(`${file}: ${title}`);
    }
    assert.deepEqual(missing, []);
  });

  it('start TypeScript programs with npx node, because the reader may have Node 20', async () => {
    const bare: string[] = [];
    for await (const page of glob(['*.md', 'docs/**/*.md', 'examples/*.ts'], { cwd: ROOT })) {
      const text = await readFile(join(ROOT, page), 'utf8');
      for (const [line] of text.matchAll(/^.*(?<!npx )\bnode [\w./-]+\.ts\b.*$/gm)) bare.push(`${page}: ${line}`);
    }
    assert.deepEqual(bare, []);
  });

  it('write keys and secrets below .flywheel/, which Git ignores', async () => {
    const exposed: string[] = [];
    for await (const page of glob(['*.md', 'docs/**/*.md'], { cwd: ROOT })) {
      const text = (await readFile(join(ROOT, page), 'utf8')).replaceAll('\\\n', ' ');
      const printing =
        /^.*flywheel (?:register|keys create|keys rotate|webhooks create|webhooks rotate)\b.*> *(\S+)$/gm;
      for (const [line, file = ''] of text.matchAll(printing)) {
        if (!file.startsWith('.flywheel/')) exposed.push(`${page}: ${line}`);
      }
    }
    assert.deepEqual(exposed, []);
  });

  it('contain the command that runs the tests, which .ci/run runs', async () => {
    const [readme, run] = await Promise.all(['README.md', '.ci/run'].map((path) => readFile(join(ROOT, path), 'utf8')));
    assert.match(readme ?? '', /^npm ci && npm test$/m);
    assert.match(run ?? '', /'npm ci && npm test'/);
  });
});

function withoutCode(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '`code`');
}

/** Collects ids of a page's headings, on GitHub and below /docs. */
async function anchorsOf(file: string): Promise<ReadonlySet<string>> {
  if (!file.endsWith('.md')) return new Set();
  const tokens = parseMarkdown(await readFile(join(ROOT, file), 'utf8'));
  return new Set(tokens.flatMap((token) => (token.type === 'heading_open' ? [String(token.attrGet('id'))] : [])));
}
