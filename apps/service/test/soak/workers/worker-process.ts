import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Step } from './stepped-worker.ts';

/** A `flywheel work` process that can be killed at any moment. */
export interface WorkerProcess {
  /** True once it takes jobs, false if it ended before. */
  readonly ready: Promise<boolean>;
  /** Ends the process with SIGKILL, without a chance to clean up. */
  kill(): Promise<void>;
  /** Ends the process with SIGTERM. @returns its exit code. */
  stop(): Promise<number | null>;
}

/** Starts a worker process. It waits at each step until `onStep` resolves. */
export function startWorkerProcess(
  environment: Readonly<Record<string, string>>,
  onStep: (step: Step) => Promise<void>,
): WorkerProcess {
  const child = spawn(process.execPath, [STEPPED_WORKER], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...environment },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  child.on('message', async (step: Step) => {
    await onStep(step);
    if (child.connected) child.send(step.number, () => undefined); // the process may have ended
  });
  return {
    ready: readyLine(child),
    kill: async () => {
      await end(child, 'SIGKILL');
    },
    stop: () => end(child, 'SIGTERM'),
  };
}

const STEPPED_WORKER = fileURLToPath(new URL('stepped-worker.ts', import.meta.url));

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
