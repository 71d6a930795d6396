import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPackage } from '../../build/build-package.ts';

export interface InstalledPackage extends AsyncDisposable {
  /** A project of somebody else, with the built package installed. */
  readonly path: string;
  /** Of the built package. */
  readonly packagePath: string;
}

const MODULES = fileURLToPath(new URL('../../../../node_modules/', import.meta.url));

/** Builds the package and installs it, with what it depends on, where nothing else of this repository is. */
export async function installPackage(): Promise<InstalledPackage> {
  const path = await mkdtemp(join(tmpdir(), 'flywheel-sdk-'));
  const packagePath = join(path, 'node_modules/@flywheel/sdk');
  await mkdir(join(path, 'node_modules/@flywheel'), { recursive: true });
  await buildPackage(packagePath);
  for (const dependency of ['@solana', 'zod']) {
    await symlink(join(MODULES, dependency), join(path, 'node_modules', dependency));
  }
  return { path, packagePath, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
