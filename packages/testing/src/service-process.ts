import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A `flywheel serve` or `flywheel work` process, started as an operator starts it. */
export interface ServiceProcess {
  /** Null if it serves nothing. */
  readonly url: string | null;
  /** Null without METRICS_PORT. */
  readonly metricsUrl: string | null;
  readonly pid: number;
  /** Maximum of resident memory so far, in MiB. */
  peakMemory(): Promise<number>;
  /** Ends the process with SIGKILL, without a chance to clean up. */
  kill(): Promise<void>;
  /** Ends the process with SIGTERM, or kills it if it has not ended 30 s later. @returns its exit code; null if it was killed. */
  stop(): Promise<number | null>;
}

export interface ServiceProcessOptions {
  /** Root folder of the sources that run; this checkout by default. */
  readonly root?: string;
  /** Gets each line of the log, which is printed otherwise. */
  readonly onLogLine?: (line: string) => void;
  /** Ends the process like `stop`, also one that never becomes ready. */
  readonly signal?: AbortSignal;
}

/** Starts a process; resolves when it is ready. */
export async function startServiceProcess(
  command: 'serve' | 'work',
  environment: Readonly<Record<string, string>>,
  { root = ROOT, onLogLine, signal }: ServiceProcessOptions = {},
): Promise<ServiceProcess> {
  // Sources that are deleted after the test leave nothing behind in the cache of this checkout.
  const compileCache = root === ROOT ? process.env.NODE_COMPILE_CACHE : join(root, 'node_modules/.cache');
  const child = spawn(process.execPath, [join(root, 'apps/cli/bin/flywheel.js'), command], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: compileCache, ...environment },
    stdio: ['ignore', 'pipe', onLogLine ? 'pipe' : 'inherit'],
  });
  const lastLines: string[] = [];
  if (onLogLine && child.stderr) {
    createInterface({ input: child.stderr }).on('line', (line) => {
      onLogLine(line);
      lastLines.push(line);
      if (lastLines.length > LAST_LINES) lastLines.shift();
    });
  }
  signal?.addEventListener('abort', () => void end(child, 'SIGTERM'), { once: true });
  const { url, metricsUrl } = await readyLine(child, () => {
    const how = child.signalCode ? `was ended by ${child.signalCode}` : `ended with ${child.exitCode}`;
    return new Error([`flywheel ${command} ${how} before it was ready.`, ...lastLines].join('\n'));
  });
  if (child.pid === undefined) throw new Error('A process that is ready has an id.');
  return {
    url,
    metricsUrl,
    pid: child.pid,
    peakMemory: async () => {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
      return Math.round(Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1_024);
    },
    kill: async () => {
      await end(child, 'SIGKILL');
    },
    stop: () => end(child, 'SIGTERM'),
  };
}

/** Lines of the log that are in the error of a process that does not become ready. */
const LAST_LINES = 20;

/** Root folder of this checkout. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

function readyLine(child: ChildProcess, toError: () => Error): Promise<Pick<ServiceProcess, 'url' | 'metricsUrl'>> {
  const { stdout } = child;
  if (!stdout) throw new Error('The process has no standard output.');
  return new Promise((resolve, reject) => {
    createInterface({ input: stdout }).once('line', (line) => resolve(JSON.parse(line)));
    // Only `close` comes after the exit code and the last lines of both streams.
    child.once('close', () => reject(toError()));
  });
}

async function end(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = once(child, 'exit');
  child.kill(signal);
  const killing = setTimeout(() => child.kill('SIGKILL'), KILLED_AFTER_MS);
  await exited;
  clearTimeout(killing);
  return child.exitCode;
}

/** Kubernetes waits this long. A process that hangs must not keep the test that has failed because of it. */
const KILLED_AFTER_MS = 30_000;
