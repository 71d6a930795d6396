import { glob, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** Builds the console into apps/console/dist, unless the build there is newer than all sources. */
async function buildIfStale(): Promise<void> {
  const builtAt = await modifiedAt('apps/console/dist/index.html');
  if (builtAt >= (await newestSource())) return;
  process.stderr.write('Building the console, once.\n');
  // A dynamic import: a machine with a finished build needs no development dependencies.
  const { build } = await import('vite');
  await build({ root: `${ROOT}apps/console`, logLevel: 'error' });
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SOURCES = [
  'apps/console/{src,public}/**',
  'apps/console/{index.html,package.json,vite.config.ts}',
  'packages/{api,protocol,sdk,solana-rpc,squads}/src/**',
  'package-lock.json',
];

async function newestSource(): Promise<number> {
  const times: Promise<number>[] = [];
  for await (const path of glob(SOURCES, { cwd: ROOT })) times.push(modifiedAt(path));
  return Math.max(...(await Promise.all(times)));
}

/** Modification time in milliseconds; 0 for a missing file. */
async function modifiedAt(path: string): Promise<number> {
  const found = await stat(`${ROOT}${path}`).catch(() => null);
  return found?.mtimeMs ?? 0;
}

await buildIfStale();
