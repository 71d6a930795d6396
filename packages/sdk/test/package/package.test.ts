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

/** Result of smoke.js if everything works. */
const EXPECTED = {
  hash: '62bc0fd1873a9efcaa0e009bc94e582e73e0bdb39bd08ab3eea9df890ee778e2',
  bytes: 278,
  refused: 404,
  unsigned: 'Not signed: it is not a base64 transaction (4 characters).',
  attempts: 2,
  sameKeyTwice: true,
};

/** Maximum size of a compressed bundle with all its dependencies. */
const MAX_BYTES = {
  "export * from '@flywheel/sdk'": 92_050,
  "export { createFlywheelClient, runBatch } from '@flywheel/sdk'": 71_700,
  "export { createFlywheelClient } from '@flywheel/sdk'": 40_250,
  "export { createCollector } from '@flywheel/sdk/collector'": 75_500,
  "export { proof } from '@flywheel/sdk'": 24_800,
  "export { verifyProofOnChain } from '@flywheel/sdk'": 11_200,
  "export { proofHash } from '@flywheel/sdk'": 3_000,
};

describe('the published SDK', () => {
  let installed: InstalledPackage;
  before(async () => {
    installed = await installPackage();
    await copyFile(SMOKE, join(installed.path, 'smoke.mjs'));
  });
  after(() => installed[Symbol.asyncDispose]());

  it('exports what its sources export, and nothing else', async () => {
    const built: object = await import(pathToFileURL(join(installed.packagePath, 'sdk/src/index.js')).href);
    assert.deepEqual(Object.keys(built), Object.keys(source));
  });

  it('passes publint without a message', async () => {
    const { messages } = await publint({ pkgDir: installed.packagePath, pack: false, strict: true });
    assert.deepEqual(messages, []);
  });

  it('has types that resolve like its code, for every way to import a module', async () => {
    const analysis = await checkPackage(createPackageFromTarballData(await readFile(installed.tarball)));
    assert.ok('problems' in analysis, 'the package has no types');
    // Profile `esm-only` of attw: there is no CommonJS build, and Node 10 has no exports.
    const isOurs = ({ kind, resolutionKind }: { readonly kind: string; readonly resolutionKind?: string }) =>
      kind !== 'CJSResolvesToESM' && resolutionKind !== 'node10' && resolutionKind !== 'node16-cjs';
    assert.deepEqual(analysis.problems.filter(isOurs), []);
  });

  it('depends on nothing that asks for a newer Node, or for another release of @solana/kit, than itself', async () => {
    const readManifest = async (path: string): Promise<Manifest> =>
      JSON.parse(await readFile(join(path, 'package.json'), 'utf8'));
    const { dependencies = {}, engines } = await readManifest(installed.packagePath);
    assert.equal(engines?.node, '>=20.18.0');
    for (const name of Object.keys(dependencies)) {
      const manifest = await readManifest(join(installed.path, 'node_modules', name));
      const [, major = '0'] = /^>=\s*(\d+)/.exec(manifest.engines?.node ?? '') ?? [];
      assert.ok(Number(major) <= 20, `${name} needs Node ${manifest.engines?.node}`);
      assert.match(manifest.peerDependencies?.['@solana/kit'] ?? '^8', /^\^8/, name);
    }
  });

  it('imports only public packages, each one a dependency, and no module of Node', async () => {
    const { stdout } = await run('grep', ['-rhoE', `from ['"][^'"]+['"]`, installed.packagePath, '--include=*.js']);
    // `@noble/hashes/sha2.js` is of `@noble/hashes`.
    const names = stdout.matchAll(/from ['"]((?:@[^/'"]+\/)?[^./'"][^/'"]*)[^'"]*['"]/g);
    const packages = new Set([...names].map(([, name]) => name));
    const { dependencies } = JSON.parse(await readFile(join(installed.packagePath, 'package.json'), 'utf8'));
    assert.deepEqual([...packages].toSorted(), Object.keys(dependencies));
    assert.deepEqual(
      Object.keys(dependencies).filter((name) => name.startsWith('@flywheel/')),
      [],
    );
  });

  for (const [module, moduleResolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ]) {
    it(`has types for a program that resolves modules by ${moduleResolution}`, async () => {
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

  for (const major of [20, 22, 24]) {
    it(`runs in Node ${major}`, async (test) => {
      const node = await findNode(major);
      if (node === null) return test.skip(`No Node ${major} in PATH or FLYWHEEL_NODES (directories, like PATH).`);
      await writeFile(
        join(installed.path, 'run.mjs'),
        "import { smoke } from './smoke.mjs';\nprocess.stdout.write(JSON.stringify(await smoke()));\n",
      );
      const { stdout } = await run(node, [join(installed.path, 'run.mjs')]);
      assert.deepEqual(JSON.parse(stdout), EXPECTED);

      await writeFile(join(installed.path, 'collect.mjs'), COLLECT);
      const counted = JSON.parse((await run(node, [join(installed.path, 'collect.mjs')])).stdout);
      const withoutSqlite = /^openSqliteStore needs node:sqlite, which Node has from 22\.13\./;
      if (major < 22) assert.match(counted.sqlite, withoutSqlite);
      const { sqlite } = counted;
      assert.deepEqual(counted, { accepted: 1, state: 'pending', sqlite: major < 22 ? sqlite : 0 });
    });
  }

  it('runs, bundled, with the objects of the web platform only: browsers, workers, Deno, Bun', async () => {
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
      // Printed, so that its growth is noticed.
      process.stdout.write(`# ${bytes} bytes for ${entry}\n`);
      assert.ok(bytes <= maxBytes, `${bytes} bytes`);
    });
  }
});

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly engines?: { readonly node?: string };
}

/** A program that only compiles if the types of the package are found, and are not `any`. */
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

/** A program that collects an event and opens the stores, of which one needs a module that older versions of Node do not have. */
const COLLECT = `
import { createFlywheelClient } from '@flywheel/sdk';
import { createCollector, createVolatileMemoryStore } from '@flywheel/sdk/collector';
import { openSqliteStore } from '@flywheel/sdk/collector/sqlite';
const accepted = async (store) => (await store.count()).accepted;
const sqlite = await openSqliteStore(':memory:').then(accepted, ({ message }) => message);
const fetch = async () => new Response(JSON.stringify({ error: 'ERR_INTERNAL', message: 'Down.' }), { status: 500 });
const client = createFlywheelClient({ url: 'https://flywheel.example', apiKey: 'fw_key', fetch, maxAttempts: 1 });
const store = createVolatileMemoryStore();
const collector = await createCollector({ client, store, approval: 'person' });
await collector.collect({ id: '1', type: 'WATCH_AD', payload: {}, actions: [{ action: 'BURN', amount: 1 }] });
const { state } = await collector.status('1');
await collector.stop();
process.stdout.write(JSON.stringify({ accepted: await accepted(store), state, sqlite }));
`;

async function bundle(root: string, code: string): Promise<string> {
  const entry = join(root, 'entry.mjs');
  await writeFile(entry, code);
  const lib = { entry, formats: ['es' as const], fileName: 'bundle' };
  const built = await build({
    root,
    configFile: false,
    logLevel: 'error',
    // @solana-program/* reads it. Every bundler of applications replaces it; Vite leaves it in a library.
    define: { 'process.env.NODE_ENV': '"production"' },
    build: { write: false, minify: true, target: 'es2022', lib },
  });
  const outputs = [built].flat().flatMap((result) => ('output' in result ? result.output : []));
  return outputs.map((chunk) => ('code' in chunk ? chunk.code : '')).join('');
}

/** Finds a Node of one major version. Several versions cannot be dependencies at once: each one is named `node`. */
async function findNode(major: number): Promise<string | null> {
  for (const folder of [process.env.FLYWHEEL_NODES, process.env.PATH].flatMap((list) => list?.split(delimiter) ?? [])) {
    const node = join(folder, 'node');
    const version = await run(node, ['--version']).then(
      ({ stdout }) => stdout,
      () => '',
    );
    if (version.startsWith(`v${major}.`)) return node;
  }
  return null;
}
