import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import * as source from '@flywheel/sdk';
import { publint } from 'publint';
import { build } from 'vite';
import { type InstalledPackage, installPackage } from './installed-package.ts';

const run = promisify(execFile);
const TSC = fileURLToPath(new URL('../../../../node_modules/.bin/tsc', import.meta.url));
const SMOKE = fileURLToPath(new URL('smoke.js', import.meta.url));

/** What smoke.js answers where everything works. */
const EXPECTED = {
  hash: '62bc0fd1873a9efcaa0e009bc94e582e73e0bdb39bd08ab3eea9df890ee778e2',
  bytes: 278,
  refused: 404,
  unsigned: 'Not signed: it is not a base64 transaction (4 characters).',
  attempts: 2,
  sameKeyTwice: true,
};

/** Compressed, with everything that they depend on. */
const MAX_BYTES = {
  "export * from '@flywheel/sdk'": 75_000,
  "export { createFlywheelClient, runBatch } from '@flywheel/sdk'": 72_000,
  "export { createFlywheelClient } from '@flywheel/sdk'": 43_000,
  "export { proof } from '@flywheel/sdk'": 18_000,
  "export { proofHash } from '@flywheel/sdk'": 500,
};

describe('the package as it is published', () => {
  let installed: InstalledPackage;
  before(async () => {
    installed = await installPackage();
    await copyFile(SMOKE, join(installed.path, 'smoke.mjs'));
  });
  after(() => installed[Symbol.asyncDispose]());

  it('exports what the sources export, and nothing else', async () => {
    const built: object = await import(pathToFileURL(join(installed.packagePath, 'packages/sdk/src/index.js')).href);
    assert.deepEqual(Object.keys(built), Object.keys(source));
  });

  it('is found faultless by publint', async () => {
    const { messages } = await publint({ pkgDir: installed.packagePath, pack: false, strict: true });
    assert.deepEqual(messages, []);
  });

  it('has types that resolve as its code does, for everyone who imports it as a module', async () => {
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', installed.path], {
      cwd: installed.packagePath,
    });
    const [packed]: { readonly filename: string }[] = JSON.parse(stdout);
    const tarball = await readFile(join(installed.path, packed?.filename ?? ''));
    const analysis = await checkPackage(createPackageFromTarballData(tarball));
    assert.ok('problems' in analysis, 'the package has no types');
    // As attw’s profile `esm-only`: there is no CommonJS build, and Node 10 knew no exports.
    const isOurs = ({ kind, resolutionKind }: { readonly kind: string; readonly resolutionKind?: string }) =>
      kind !== 'CJSResolvesToESM' && resolutionKind !== 'node10' && resolutionKind !== 'node16-cjs';
    assert.deepEqual(analysis.problems.filter(isOurs), []);
  });

  it('names no module of this repository and none of Node', async () => {
    const { stdout } = await run('grep', ['-rhoE', `from ['"][^'"]+['"]`, installed.packagePath, '--include=*.js']);
    const packages = new Set([...stdout.matchAll(/from ['"]([^.'"][^'"]*)['"]/g)].map(([, name]) => name));
    assert.deepEqual([...packages].toSorted(), ['@solana/kit', 'zod']);
  });

  for (const [module, moduleResolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ]) {
    it(`is typed for whoever resolves modules by ${moduleResolution}`, async () => {
      await writeFile(join(installed.path, 'consumer.mts'), CONSUMER);
      const settings = { noEmit: true, strict: true, target: 'es2022', lib: ['es2023', 'dom'], types: [] };
      const compilerOptions = { ...settings, skipLibCheck: true, module, moduleResolution };
      await writeFile(
        join(installed.path, 'tsconfig.json'),
        JSON.stringify({ compilerOptions, files: ['consumer.mts'] }),
      );
      await run(TSC, ['--project', installed.path]).catch(({ stdout }) => assert.fail(stdout));
    });
  }

  it('runs in Node 20', async (test) => {
    const node = await findNode(20);
    if (node === null) return test.skip('This machine has no Node 20.');
    await writeFile(
      join(installed.path, 'run.mjs'),
      "import { smoke } from './smoke.mjs';\nprocess.stdout.write(JSON.stringify(await smoke()));\n",
    );
    const { stdout } = await run(node, [join(installed.path, 'run.mjs')]);
    assert.deepEqual(JSON.parse(stdout), EXPECTED);
  });

  it('runs where there is nothing but the web’s own objects: browsers, workers, Deno, Bun', async () => {
    const code = await bundle(installed.path, `export { smoke } from './smoke.mjs'`);
    const web = { fetch, Response, Headers, URL, URLSearchParams, TextEncoder, TextDecoder, crypto };
    const rest = { AbortController, AbortSignal, setTimeout, clearTimeout };
    const context = createContext({ ...web, ...rest });
    runInContext(code.replace(/export\s*\{\s*(\w+) as smoke\s*\};?\s*$/, 'globalThis.smoke = $1;'), context);
    assert.deepEqual({ ...(await context.smoke()) }, EXPECTED);
  });

  for (const [entry, maxBytes] of Object.entries(MAX_BYTES)) {
    it(`takes at most ${maxBytes} bytes of a page for “${entry}”`, async () => {
      const bytes = gzipSync(await bundle(installed.path, entry)).length;
      // A measurement worth reading.
      process.stdout.write(`# ${bytes} bytes for ${entry}\n`);
      assert.ok(bytes <= maxBytes, `${bytes} bytes`);
    });
  }
});

/** Types that must reach whoever installs the package: none of these lines holds if they are any. */
const CONSUMER = `
import { type Batch, type FlywheelClient, createFlywheelClient, isFlywheelError, pipeline, burn, runBatch } from '@flywheel/sdk';
const client: FlywheelClient = createFlywheelClient({ url: 'https://flywheel.example', apiKey: 'fw_key' });
const batch: Promise<Batch> = client.getBatch('id', { include: ['ledger'] });
// @ts-expect-error
client.getBatch(1);
// @ts-expect-error
client.initBatch({ pipelines: [{ type: 'A', payload: '{}', actions: [{ action: 'MINT', amount: 1 }] }] });
// @ts-expect-error
isFlywheelError(null, 'ERR_NO_SUCH_CODE');
// @ts-expect-error
runBatch(client, [pipeline('A', {}, burn(1))], {});
batch.then(({ status }) => {
  // @ts-expect-error
  const other: 'OPEN' = status;
});
`;

async function bundle(root: string, code: string): Promise<string> {
  const entry = join(root, 'entry.mjs');
  await writeFile(entry, code);
  const lib = { entry, formats: ['es' as const], fileName: 'bundle' };
  const built = await build({
    root,
    configFile: false,
    logLevel: 'error',
    build: { write: false, minify: true, target: 'es2022', lib },
  });
  const outputs = [built].flat().flatMap((result) => ('output' in result ? result.output : []));
  return outputs.map((chunk) => ('code' in chunk ? chunk.code : '')).join('');
}

/** A Node of one major version on the path, beside the one that runs this. */
async function findNode(major: number): Promise<string | null> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const node = join(folder, 'node');
    const version = await run(node, ['--version']).then(
      ({ stdout }) => stdout,
      () => '',
    );
    if (version.startsWith(`v${major}.`)) return node;
  }
  return null;
}
