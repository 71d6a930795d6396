/**
 * Builds the image of deploy/Dockerfile where no container engine runs and no registry of images can be reached: `npm run
 * image`. buildah builds without a daemon. The base is a Debian that debootstrap makes, with the Node of this process and the
 * npm of this machine. The image has the last commit, and nothing that is not committed.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** The home of the user as which commands run while the image is built. */
const IMAGE_HOME = '/root';
const ROOT = fileURLToPath(new URL('../', import.meta.url));
const CACHE = join(ROOT, 'node_modules/.cache/image');
/** The release on which the official images of Node are based. */
const DEBIAN = 'bookworm';
const BASE = 'localhost/flywheel-base';
/** Neither Node nor a package of ours reads them. Debian's own small images leave them out, too. */
const UNUSED = [
  'usr/share/doc',
  'usr/share/info',
  'usr/share/locale',
  'usr/share/man',
  'var/cache',
  'var/lib/apt/lists',
];
/** Commands run with the privileges of this process; every other isolation needs features that some machines lack. */
const ISOLATION = ['--isolation', 'chroot'];

if (import.meta.main) await main();

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { tag: { type: 'string', default: 'flywheel' }, base: { type: 'string' } },
  });
  const missing = findMissing();
  if (missing !== null) {
    process.stderr.write(`${missing}\n`);
    process.exitCode = 1;
    return;
  }
  await buildImage(values.base ?? (await buildBase()), values.tag);
}

/** Finds the reason why the image cannot be built on this machine; null if it can. */
export function findMissing(): string | null {
  const missing = ['buildah', 'debootstrap'].filter((program) => spawnSync(program, ['--version']).error !== undefined);
  if (missing.length > 0) {
    return `${missing.join(' and ')} not installed: apt-get install --no-install-recommends ${missing.join(' ')}`;
  }
  return process.getuid?.() === 0 ? null : 'debootstrap needs root';
}

/** Builds an image from the last commit on a base that the local storage has. */
async function buildImage(base: string, tag: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'flywheel-image-'));
  try {
    const [sources, home] = [join(folder, 'sources'), join(folder, 'home')];
    await Promise.all([mkdir(sources), mkdir(home)]);
    const archive = join(folder, 'sources.tar');
    run('git', ['-C', ROOT, '-c', 'safe.directory=*', 'archive', '--output', archive, 'HEAD']);
    run('tar', ['-xf', archive, '-C', sources]);
    const npmCache = await lendNpm(home);
    run('buildah', [
      ...['build', ...ISOLATION, '--pull-never', '--build-arg', `BASE=${base}`],
      // The format of OCI has no health check.
      ...['--format', 'docker'],
      ...['--volume', `${home}:${IMAGE_HOME}`, '--volume', `${npmCache}:${IMAGE_HOME}/.npm`],
      ...['--file', join(sources, 'deploy/Dockerfile'), '--tag', tag, sources],
    ]);
    process.stdout.write(`Built ${tag}: buildah push ${tag} DESTINATION\n`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * Lets npm inside the build reach the registry as npm outside does: with its address, its certificates and its cache. None of
 * it gets into the image.
 * @param home directory that root has in the build
 * @returns directory of the cache
 */
async function lendNpm(home: string): Promise<string> {
  const setting = (name: string) => {
    const value = read('npm', ['config', 'get', name]);
    return value === 'null' || value === '' ? undefined : value;
  };
  const lines = [`registry=${setting('registry')}`];
  const certificates = setting('cafile') ?? process.env.NODE_EXTRA_CA_CERTS;
  if (certificates !== undefined) {
    await copyFile(certificates, join(home, 'certificates.pem'));
    lines.push(`cafile=${IMAGE_HOME}/certificates.pem`);
  }
  await writeFile(join(home, '.npmrc'), `${lines.join('\n')}\n`);
  const cache = setting('cache') ?? join(home, '.npm');
  await mkdir(cache, { recursive: true });
  return cache;
}

/** Builds what `BASE` of deploy/Dockerfile asks for. @returns its name in the local storage. */
async function buildBase(): Promise<string> {
  const container = buildah('from', ['scratch']);
  try {
    buildah('add', ['--quiet', container, await provideDebian(), '/']);
    buildah('copy', ['--quiet', container, process.execPath, '/usr/local/bin/node']);
    buildah('copy', ['--quiet', container, await findNpm(), '/usr/local/lib/node_modules/npm']);
    const rest =
      'ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && useradd --no-log-init --create-home --uid 1000 node';
    buildah('run', [...ISOLATION, container, '--', 'sh', '-c', rest]);
    buildah('config', ['--env', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', container]);
    buildah('commit', ['--quiet', container, BASE]);
    return BASE;
  } finally {
    buildah('rm', [container]);
  }
}

/** Finds the package of the npm in PATH. Its own answer would be where the Node of this process keeps global packages. */
async function findNpm(): Promise<string> {
  const program = await realpath(read('sh', ['-c', 'command -v npm']));
  return join(program, '../..');
}

/** Provides the files of a minimal Debian as a tar, which later builds use again. It takes two minutes to make. */
async function provideDebian(): Promise<string> {
  const tar = join(CACHE, `${DEBIAN}-${process.arch}.tar`);
  if (existsSync(tar)) return tar;
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(tmpdir(), 'flywheel-debian-'));
  try {
    // Node 25 and newer need the library.
    run('debootstrap', ['--variant=minbase', '--include=libatomic1', DEBIAN, folder]);
    const excluded = UNUSED.map((path) => `--exclude=./${path}/*`);
    const unfinished = `${tar}.${process.pid}`;
    run('tar', ['--numeric-owner', ...excluded, '-cf', unfinished, '-C', folder, '.']);
    await rename(unfinished, tar);
  } finally {
    await rm(folder, { recursive: true });
  }
  return tar;
}

function buildah(command: string, args: readonly string[]): string {
  return read('buildah', [command, ...args]);
}

/** Runs a program that prints one value. */
function read(program: string, args: readonly string[]): string {
  return execFileSync(program, args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

/** Runs a program, and shows what it does on stderr. */
function run(program: string, args: readonly string[]): void {
  execFileSync(program, args, { stdio: ['ignore', process.stderr, 'inherit'] });
}
