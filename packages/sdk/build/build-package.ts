import { execFile } from 'node:child_process';
import { copyFile, glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path/posix';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const SDK = fileURLToPath(new URL('../', import.meta.url));
const API = fileURLToPath(new URL('../../api/', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** What may be published of a package.json. */
interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

/**
 * Builds the package as it is published: JavaScript and declarations of the SDK, with the wire’s own module inside, so
 * that it depends on public packages alone.
 * @param directory emptied first
 */
export async function buildPackage(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  await promisify(execFile)(tsc, ['--project', join(SDK, 'tsconfig.build.json'), '--outDir', directory]);
  for await (const path of glob('**/*.{js,d.ts}', { cwd: directory })) await rewriteImports(directory, path);
  const [sdk, api] = await Promise.all([SDK, API].map(readManifest));
  if (!sdk || !api) throw new Error('Two packages have two manifests.');
  await writeFile(join(directory, 'package.json'), `${JSON.stringify(publishedManifest(sdk, api), null, 2)}\n`);
  await copyFile(join(SDK, 'README.md'), join(directory, 'README.md'));
  await copyFile(join(ROOT, 'LICENSE'), join(directory, 'LICENSE'));
}

const WIRE = 'api/src/index.js';

/** Declarations keep the endings of the sources, and everything keeps the name of the wire’s package. */
async function rewriteImports(directory: string, path: string): Promise<void> {
  const text = await readFile(join(directory, path), 'utf8');
  const wire = relative(dirname(path), WIRE);
  const rewritten = text
    .replaceAll(/(from|import\() ?(['"])@flywheel\/api\2/g, (_, word: string) =>
      word === 'from' ? `from '${wire}'` : `import('${wire}'`,
    )
    .replaceAll(/(from |import\()(['"])(\.[^'"]*)\.ts\2/g, "$1'$3.js'");
  await writeFile(join(directory, path), rewritten);
}

async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
}

function publishedManifest({ name, version, description, license, dependencies }: Manifest, api: Manifest) {
  const { [api.name]: _wire, ...own } = dependencies;
  return {
    name,
    version,
    description,
    license,
    keywords: ['flywheel', 'solana', 'squads', 'multisig', 'token', 'burn', 'airdrop'],
    type: 'module',
    sideEffects: false,
    exports: {
      '.': { types: './sdk/src/index.d.ts', default: './sdk/src/index.js' },
      './package.json': './package.json',
    },
    // For tools older than `exports`.
    types: './sdk/src/index.d.ts',
    files: ['sdk', 'api'],
    // What @solana/kit asks for; browsers, Deno, Bun and workers have no number here.
    engines: { node: '>=20.18.0' },
    dependencies: ranged({ ...own, ...api.dependencies }),
  };
}

/** This repository pins what it tests with; whoever installs the package shares one copy with what he has. */
function ranged(dependencies: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(dependencies).map(([name, version]) => [name, `^${version}`]));
}

if (import.meta.main) {
  const directory = join(SDK, 'dist');
  await buildPackage(directory);
  process.stdout.write(`Built. Publish with npm publish ${relative(process.cwd(), directory)}\n`);
}
