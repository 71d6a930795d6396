import { spawnSync } from 'node:child_process';
import { glob, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from '@flywheel/testing/service-process';

/** The release before this one. Its processes run beside those of this one during an upgrade. */
export const PREVIOUS_RELEASE = { name: '0.2.0', commit: '0e91e22838d2f0fc11989e3cb49e37b9947d3868' } as const;

/** Finds the reason why the previous release cannot run here; null if it can. */
export async function findReleaseIssue(): Promise<string | null> {
  const { name, commit } = PREVIOUS_RELEASE;
  const lock = git('show', `${commit}:package-lock.json`);
  if (lock === null) {
    return `release ${name}, commit ${commit.slice(0, 8)}, is not in the history of this checkout: git fetch --unshallow`;
  }
  const [old, present] = [lock.toString(), await readFile(join(ROOT, 'package-lock.json'), 'utf8')].map(listPackages);
  const differing = [...new Set([...(old ?? []), ...(present ?? [])])].filter(
    (each) => !(old?.has(each) && present?.has(each)),
  );
  if (differing.length === 0) return null;
  return `release ${name} has other dependencies, and only those of this checkout are installed: ${differing.join(', ')}`;
}

/** Sources of a release in a folder of their own, with the dependencies of this checkout. */
export interface ReleaseSources {
  readonly root: string;
  remove(): Promise<void>;
}

export async function unpackPreviousRelease(): Promise<ReleaseSources> {
  const { commit } = PREVIOUS_RELEASE;
  const archive = git('archive', commit, 'apps/cli', 'apps/service', 'packages', 'package.json');
  if (archive === null) throw new Error(`git has no archive of ${commit}.`);
  const root = await mkdtemp(join(tmpdir(), 'previous-release-'));
  const { status, stderr } = spawnSync('tar', ['-x', '-C', root], { input: archive });
  if (status !== 0) throw new Error(`tar: ${stderr}`);
  await linkDependencies(root);
  return { root, remove: () => rm(root, { recursive: true }) };
}

/** Links each package to the one that is installed here, except those of the project, which the release has itself. */
async function linkDependencies(root: string): Promise<void> {
  const own = join(root, 'node_modules/@flywheel');
  await mkdir(own, { recursive: true });
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    if (name.startsWith('.') || name === '@flywheel') continue;
    await symlink(join(ROOT, 'node_modules', name), join(root, 'node_modules', name));
  }
  for (const name of await readdir(join(ROOT, 'node_modules/@flywheel'))) {
    // A path from one folder of the repository to another.
    await symlink(await readlink(join(ROOT, 'node_modules/@flywheel', name)), join(own, name));
  }
  for await (const nested of glob('{apps,packages}/*/node_modules', { cwd: ROOT })) {
    const isThere = await readdir(join(root, dirname(nested))).then(Boolean, () => false);
    if (isThere) await symlink(join(ROOT, nested), join(root, nested));
  }
}

interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly version?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
}

/** Lists what a process of the service may load, with versions: no tools, and nothing of the project. */
function listPackages(lock: string): ReadonlySet<string> {
  const { packages }: LockFile = JSON.parse(lock);
  const used = Object.entries(packages).filter(
    ([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link,
  );
  return new Set(used.map(([path, { version }]) => `${path.replace('node_modules/', '')} ${version}`));
}

/** Runs git on this checkout, whoever owns it. @returns its output; null if it fails or is not installed. */
function git(...args: readonly string[]): Buffer | null {
  const options = { cwd: ROOT, maxBuffer: 2 ** 28 };
  const { status, stdout } = spawnSync('git', ['-c', 'safe.directory=*', ...args], options);
  return status === 0 ? stdout : null;
}
