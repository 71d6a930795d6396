import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** An image whose files are mounted. */
export interface MountedImage {
  /** Directory of its files. */
  readonly files: string;
  readonly entrypoint: readonly string[];
  readonly environment: readonly string[];
  /** Command that a container engine runs again and again to learn if a container works. */
  readonly healthCheck: readonly string[];
  readonly workingDirectory: string;
  readonly user: { readonly uid: number; readonly gid: number };
  unmount(): void;
}

/** Mounts an image of the storage that CONTAINERS_STORAGE_CONF describes. */
export async function mountImage(name: string): Promise<MountedImage> {
  const container = buildah('from', '--pull-never', name);
  const files = buildah('mount', container);
  const { OCIv1, Docker } = JSON.parse(buildah('inspect', '--type', 'image', name));
  const { Entrypoint, Env, User, WorkingDir } = OCIv1.config;
  const [, ...healthCheck] = Docker.config.Healthcheck.Test;
  return {
    files,
    entrypoint: Entrypoint,
    environment: Env,
    healthCheck,
    workingDirectory: WorkingDir,
    user: await findUser(files, User),
    unmount: () => void buildah('rm', container),
  };
}

async function findUser(files: string, name: string) {
  const accounts = (await readFile(join(files, 'etc/passwd'), 'utf8')).split('\n').map((line) => line.split(':'));
  const [, , uid, gid] = accounts.find(([account]) => account === name) ?? [];
  if (uid === undefined || gid === undefined) throw new Error(`The image has no account ${name}.`);
  return { uid: Number(uid), gid: Number(gid) };
}

function buildah(...args: readonly string[]): string {
  return execFileSync('buildah', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

export interface ContainerOptions {
  /** Arguments of the entrypoint, e.g. `serve`. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Directories in memory, as the key `tmpfs` of a compose file lists them: `/path` or `/path:options`. */
  readonly temporary: readonly string[];
  /** Directory that the container sees at /run/secrets, and cannot write. */
  readonly secrets?: string;
}

export interface Container {
  /** Its first line on stdout; null if it printed none. */
  readonly firstLine: Promise<string | null>;
  /** Resolves to its exit code when it has ended. */
  readonly ended: Promise<number | null>;
  /** Runs a command in it, with the same user and rights. */
  execute(...command: readonly string[]): { readonly status: number | null; readonly stderr: string };
  /** The kernel's record of its first process, /proc/PID/status. */
  readStatus(): Promise<string>;
  /** Sends SIGTERM. @returns its exit code. */
  stop(): Promise<number | null>;
}

/**
 * Starts a container as the image's user, without any capability or a way to get one, on a read-only file system. It has the
 * network of this machine.
 */
export async function startContainer(image: MountedImage, options: ContainerOptions): Promise<Container> {
  const bundle = await mkdtemp(join(tmpdir(), 'flywheel-container-'));
  const state = join(bundle, 'state');
  await mkdir(state);
  const spec = describeContainer(image, options);
  await writeFile(join(bundle, 'config.json'), JSON.stringify(spec));
  const id = bundle.replace(/^.*-/, 'flywheel-');
  const runc = (...args: readonly string[]) => ['--root', state, ...args];
  const child = spawn('runc', runc('run', '--bundle', bundle, id), { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit').then(async ([code]: (number | null)[]) => {
    await rm(bundle, { recursive: true });
    return code ?? null;
  });
  const lines = createInterface({ input: child.stdout });
  const firstLine = new Promise<string | null>((resolve) => {
    lines.once('line', resolve);
    lines.once('close', () => resolve(null));
  });
  return {
    firstLine,
    ended,
    execute: (...command) => spawnSync('runc', runc('exec', id, ...command), { encoding: 'utf8' }),
    readStatus: async () => {
      const { pid } = JSON.parse(execFileSync('runc', runc('state', id), { encoding: 'utf8' }));
      return readFile(`/proc/${pid}/status`, 'utf8');
    },
    stop: () => {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

/** Writes the configuration of the runtime (OCI runtime specification, config.md). */
function describeContainer(image: MountedImage, { command, environment, temporary, secrets }: ContainerOptions) {
  const own = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const mount = (destination: string, type: string, options: readonly string[], source = type) => {
    return { destination, type, source, options };
  };
  return {
    ociVersion: '1.0.2',
    process: {
      user: image.user,
      args: [...image.entrypoint, ...command],
      env: [...image.environment, ...own],
      cwd: image.workingDirectory,
      capabilities: { bounding: [], effective: [], permitted: [], inheritable: [], ambient: [] },
      noNewPrivileges: true,
    },
    root: { path: image.files, readonly: true },
    mounts: [
      mount('/proc', 'proc', []),
      mount('/dev', 'tmpfs', ['nosuid', 'mode=755', 'size=65536k']),
      ...temporary.map((entry) => {
        const [path = '', options = 'mode=1777'] = entry.split(':');
        return mount(path, 'tmpfs', ['nosuid', 'nodev', 'noexec', ...options.split(',')]);
      }),
      ...(secrets === undefined ? [] : [mount('/run/secrets', 'bind', ['bind', 'ro'], secrets)]),
    ],
    linux: {
      resources: { devices: [{ allow: false, access: 'rwm' }] },
      namespaces: ['pid', 'ipc', 'uts', 'mount'].map((type) => ({ type })),
      maskedPaths: ['/proc/kcore', '/proc/keys', '/proc/timer_list'],
      readonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
    },
  };
}
