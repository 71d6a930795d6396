import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A `flywheel work` process of its own, which can be killed at any moment. */
export interface WorkerProcess {
  /** True once it takes jobs, false when it ended before. */
  readonly ready: Promise<boolean>;
  /** SIGKILL: nothing in it gets to say goodbye. */
  kill(): Promise<void>;
  /** SIGTERM; its exit code. */
  stop(): Promise<number | null>;
}

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export function startWorkerProcess(environment: Readonly<Record<string, string>>): WorkerProcess {
  const run = `import(${JSON.stringify(MAIN)}).then(({ main }) => main('work'))`;
  const child = spawn(process.execPath, ['-e', run], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return {
    ready: readyLine(child),
    kill: async () => {
      await end(child, 'SIGKILL');
    },
    stop: () => end(child, 'SIGTERM'),
  };
}

function readyLine(child: ChildProcess): Promise<boolean> {
  const { stdout } = child;
  if (!stdout) throw new Error('The worker has no standard output.');
  return new Promise((resolve) => {
    createInterface({ input: stdout }).once('line', () => resolve(true));
    child.once('exit', () => resolve(false));
  });
}

async function end(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
  return child.exitCode;
}
