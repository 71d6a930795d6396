import { execFile } from 'node:child_process';
import { copyFile, glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'vite';

const run = promisify(execFile);
const SDK = fileURLToPath(new URL('../', import.meta.url));
const PACKAGES = fileURLToPath(new URL('../../', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Packages of this repository that are compiled into the published one. */
const INSIDE = ['api', 'protocol', 'solana-rpc', 'squads', 'sdk'] as const;

/**
 * Packages of which the published one contains what it uses: they ask for a newer Node than the SDK, or for another release of
 * @solana/kit, so that installing them would warn, or fail.
 */
const CONTAINED: readonly string[] = [
  '@solana-program/address-lookup-table',
  '@solana-program/token-2022',
  'eventsource-parser',
];

/** The part of a package.json that is published. */
interface Manifest {
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

/**
 * Builds the package as it is published: JavaScript and declarations of the SDK, with the workspaces that it uses inside,
 * so that it depends on public packages only, and on none that Node 20 cannot install. Five separate packages would need one
 * version and one release anyway.
 * @param directory emptied first.
 */
export async function buildPackage(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  await run(tsc, ['--project', join(SDK, 'tsconfig.build.json'), '--outDir', directory]);
  const contained = new Map(CONTAINED.map((name) => [name, new Set<string>()]));
  for await (const path of glob('**/*.js', { cwd: directory })) await collectNames(join(directory, path), contained);
  await bundleContained(directory, contained);
  const imported = new Set<string>();
  for await (const path of glob('**/*.{js,d.ts}', { cwd: directory })) await rewriteImports(directory, path, imported);
  const manifest = await publishedManifest(imported);
  await writeFile(join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  await copyFile(join(SDK, 'README.md'), join(directory, 'README.md'));
  await copyFile(join(ROOT, 'LICENSE'), join(directory, 'LICENSE'));
}

/**
 * Packs a built package as npm publishes it.
 * @returns the path of the tarball.
 */
export async function packPackage(directory: string, destination: string): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', destination], { cwd: directory });
  const [packed]: { readonly filename: string }[] = JSON.parse(stdout);
  if (!packed) throw new Error('npm pack wrote no tarball.');
  return join(destination, packed.filename);
}

/** Collects what a compiled file imports or exports from each contained package. */
async function collectNames(path: string, contained: ReadonlyMap<string, Set<string>>): Promise<void> {
  const text = await readFile(path, 'utf8');
  for (const [, list = '', name = ''] of text.matchAll(/^(?:import|export) \{([^}]*)\} from '([^']+)'/gm)) {
    for (const [each] of list.matchAll(/(?<!as )\b\w+(?=\s*(,|$| as ))/g)) contained.get(name)?.add(each);
  }
}

/** Writes a module for each contained package, with what is used of it, and their licenses. */
async function bundleContained(directory: string, contained: ReadonlyMap<string, ReadonlySet<string>>): Promise<void> {
  const sources = new Map(
    [...contained].map(([name, names]) => [name, `export { ${[...names].join(', ')} } from '${name}'`]),
  );
  await build({
    root: SDK,
    configFile: false,
    logLevel: 'warn',
    plugins: [
      {
        name: 'contained packages',
        resolveId: (id) => (id.startsWith(USED) ? id : null),
        load: (id) => (id.startsWith(USED) ? (sources.get(id.slice(USED.length)) ?? null) : null),
      },
    ],
    build: {
      outDir: join(directory, 'contained'),
      emptyOutDir: true,
      minify: false,
      target: 'es2022',
      license: { fileName: 'LICENSES.md' },
      rolldownOptions: {
        input: Object.fromEntries(CONTAINED.map((name) => [moduleOf(name), `${USED}${name}`])),
        external: (id) => /^[@a-z]/.test(id) && !id.startsWith(USED) && !isContained(id),
        preserveEntrySignatures: 'strict',
        treeshake: { moduleSideEffects: false },
        output: { entryFileNames: '[name].js', chunkFileNames: '[name].js' },
      },
    },
  });
}

/** Prefix of the modules that export what is used of a package. */
const USED = 'used:';

const isContained = (specifier: string) => CONTAINED.includes(specifier);
const moduleOf = (name: string) => name.replace(/^@[^/]+\//, '');

/** Points imports of our workspaces and of contained packages at their files, and collects the names of all other packages. */
async function rewriteImports(directory: string, path: string, imported: Set<string>): Promise<void> {
  const text = await readFile(join(directory, path), 'utf8');
  const rewritten = text.replaceAll(IMPORT, (found: string, before: string, specifier: string) => {
    const [, name, subpath = 'index'] = /^@flywheel\/([\w-]+)(?:\/(.+))?$/.exec(specifier) ?? [];
    if (name !== undefined) return `${before}'${relativeTo(path, `${name}/src/${subpath}.js`)}'`;
    if (isContained(specifier)) return `${before}'${relativeTo(path, `contained/${moduleOf(specifier)}.js`)}'`;
    // Declarations keep the endings of the sources.
    if (specifier.startsWith('.')) return `${before}'${specifier.replace(/\.ts$/, '.js')}'`;
    imported.add(/^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier);
    return found;
  });
  await writeFile(join(directory, path), rewritten);
}

/** The specifier of `from '…'`, `import('…')` or `import '…'` in what the compiler writes. */
const IMPORT = /((?:^|[\s}*])from |import\(|^import )['"]([^'"\n]+)['"]/gm;

function relativeTo(path: string, target: string): string {
  const found = relative(dirname(path), target);
  return found.startsWith('.') ? found : `./${found}`;
}

async function publishedManifest(imported: ReadonlySet<string>) {
  const manifests = await Promise.all(
    INSIDE.map(
      async (name): Promise<Manifest> => JSON.parse(await readFile(join(PACKAGES, name, 'package.json'), 'utf8')),
    ),
  );
  const versions = new Map(manifests.flatMap(({ dependencies }) => Object.entries(dependencies)));
  const dependencies = [...imported].toSorted().map((name) => {
    const version = versions.get(name);
    if (version === undefined) throw new Error(`${name} is imported, but is not a dependency of a package.`);
    // This repository pins what it is tested with. A range lets an application share one copy.
    return [name, `^${version}`];
  });
  const { version, description, license } = manifests.at(-1) ?? {};
  return {
    name: '@flywheel/sdk',
    version,
    description,
    license,
    keywords: ['flywheel', 'solana', 'squads', 'multisig', 'token', 'burn', 'airdrop'],
    type: 'module',
    sideEffects: false,
    exports: { ...(await publishedExports()), './package.json': './package.json' },
    // For tools that do not read `exports`.
    types: './sdk/src/index.d.ts',
    files: [...INSIDE, 'contained'],
    // @solana/kit requires it. Browsers, Deno, Bun and workers have no such number.
    engines: { node: '>=20.18.0' },
    dependencies: Object.fromEntries(dependencies),
  };
}

/** The entries of the workspace, as compiled files. */
async function publishedExports() {
  const { exports }: { readonly exports: Readonly<Record<string, string>> } = JSON.parse(
    await readFile(join(SDK, 'package.json'), 'utf8'),
  );
  return Object.fromEntries(
    Object.entries(exports).map(([entry, source]) => {
      const compiled = source.replace(/^\.\/(.+)\.ts$/, './sdk/$1');
      return [entry, { types: `${compiled}.d.ts`, default: `${compiled}.js` }];
    }),
  );
}

if (import.meta.main) {
  const directory = join(SDK, 'dist/package');
  await buildPackage(directory);
  const tarball = await packPackage(directory, join(SDK, 'dist'));
  process.stdout.write(`Built ${relative(process.cwd(), tarball)}. Publish it with npm publish.\n`);
}
