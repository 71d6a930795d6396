import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { build } from 'vite';

/** 3.5 s at 400 kbit/s, a slow phone connection. */
const MAX_FIRST_PAGE_BYTES = 175_000;
const ROOT = fileURLToPath(new URL('../', import.meta.url));

interface Chunk {
  readonly file: string;
  readonly imports?: readonly string[];
  readonly dynamicImports?: readonly string[];
}

describe('the build', () => {
  let directory: string;
  let manifest: Readonly<Record<string, Chunk>>;
  let html: string;

  before(async (context) => {
    directory = await mkdtemp(join(tmpdir(), 'flywheel-console-'));
    if ('after' in context) context.after(() => rm(directory, { recursive: true }));
    await build({ root: ROOT, logLevel: 'error', build: { outDir: directory, manifest: true, emptyOutDir: false } });
    manifest = JSON.parse(await readFile(join(directory, '.vite/manifest.json'), 'utf8'));
    html = await readFile(join(directory, 'index.html'), 'utf8');
  });

  it(`has less than ${MAX_FIRST_PAGE_BYTES} bytes of compressed JavaScript on the first page`, async () => {
    const files = reachable(manifest, ['index.html', 'src/features/home/home.tsx']);
    const sizes = await Promise.all(files.map(async (file) => gzipSync(await readFile(join(directory, file))).length));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const list = files.map((file, i) => `${file} ${sizes[i]}`).join(', ');
    assert.ok(total < MAX_FIRST_PAGE_BYTES, `${total} bytes: ${list}`);
    // Printed, so that its growth is noticed.
    process.stdout.write(`# the first page takes ${total} bytes of compressed JavaScript\n`);
  });

  it('has compressed copies that equal the originals', async () => {
    const paths = (await readdir(directory, { recursive: true })).filter((path) => /\.(br|gz)$/.test(path));
    assert.ok(paths.length > 10, `only ${paths.length} are compressed`);
    for (const path of paths) {
      const decompress = path.endsWith('.br') ? brotliDecompressSync : gunzipSync;
      const plain = await readFile(join(directory, path.replace(/\.(br|gz)$/, '')));
      assert.ok(decompress(await readFile(join(directory, path))).equals(plain), path);
    }
  });

  it('has no inline script, no inline style and no file of another host', () => {
    assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)/);
    assert.doesNotMatch(html, /<style|style=/);
    assert.doesNotMatch(html, /(src|href)="(https?:)?\/\//);
  });
});

/** All scripts that the browser must load before these entries run. */
function reachable(manifest: Readonly<Record<string, Chunk>>, entries: readonly string[]): string[] {
  const seen = new Set<string>();
  const visit = (name: string) => {
    const chunk = manifest[name];
    if (!chunk || seen.has(chunk.file)) return;
    seen.add(chunk.file);
    for (const imported of chunk.imports ?? []) visit(imported);
  };
  entries.forEach(visit);
  return [...seen];
}
