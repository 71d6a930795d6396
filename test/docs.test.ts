import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

describe('the documents', () => {
  it('link to files that exist', async () => {
    const broken: string[] = [];
    for await (const page of glob('{*.md,docs/**/*.md}', { cwd: ROOT })) {
      const text = await readFile(join(ROOT, page), 'utf8');
      for (const [, target = ''] of text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
        if (!existsSync(join(ROOT, dirname(page), target))) broken.push(`${page}: ${target}`);
      }
    }
    assert.deepEqual(broken, []);
  });

  it('list every decision', async () => {
    const index = await readFile(join(ROOT, 'docs/decisions/README.md'), 'utf8');
    const listed = [...index.matchAll(/\]\((\d{4}-[^)]+)\)/g)].map(([, name]) => name);
    assert.deepEqual(listed, (await Array.fromAsync(glob('0*.md', { cwd: join(ROOT, 'docs/decisions') }))).toSorted());
  });

  it('name every variable that the service reads', async () => {
    const operating = await readFile(join(ROOT, 'docs/operating.md'), 'utf8');
    const config = await readFile(join(ROOT, 'service/src/config.ts'), 'utf8');
    const documented = [...operating.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name);
    const read = [...config.matchAll(/^ {2}([A-Z][A-Z_]+): /gm)].map(([, name]) => name);
    assert.deepEqual(documented.toSorted(), read.toSorted());
  });

  it('give the line that runs the tests, which .ci/run runs', async () => {
    const [readme, run] = await Promise.all(['README.md', '.ci/run'].map((path) => readFile(join(ROOT, path), 'utf8')));
    assert.match(readme ?? '', /^npm ci && npm test$/m);
    assert.match(run ?? '', /'npm ci && npm test'/);
  });
});
