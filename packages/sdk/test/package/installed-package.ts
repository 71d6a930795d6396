import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { buildPackage, packPackage } from '../../build/build-package.ts';

const run = promisify(execFile);

export interface InstalledPackage extends AsyncDisposable {
  /** An empty project with the tarball installed. */
  readonly path: string;
  /** The installed package in its node_modules. */
  readonly packagePath: string;
  readonly tarball: string;
}

const MODULES = fileURLToPath(new URL('../../../../node_modules/', import.meta.url));

/**
 * Builds and packs the SDK and installs the tarball into an empty project. The packages that it depends on are links to
 * ours: the test needs no network, and no other package of this repository can be found.
 */
export async function installPackage(): Promise<InstalledPackage> {
  const path = await mkdtemp(join(tmpdir(), 'flywheel-sdk-'));
  const packagePath = join(path, 'node_modules/@flywheel/sdk');
  await mkdir(packagePath, { recursive: true });
  await buildPackage(join(path, 'build'));
  const tarball = await packPackage(join(path, 'build'), path);
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', packagePath]);
  const { dependencies } = JSON.parse(await readFile(join(packagePath, 'package.json'), 'utf8'));
  for (const dependency of Object.keys(dependencies)) {
    const link = join(path, 'node_modules', dependency);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(MODULES, dependency), link);
  }
  return { path, packagePath, tarball, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
