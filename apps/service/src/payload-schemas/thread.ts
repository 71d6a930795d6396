import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { SchemaAnswer, SchemaIssue, SchemaJob } from './thread-program.ts';

/** What became of a job. */
export type SchemaOutcome =
  | { readonly status: 'checked'; readonly issue: SchemaIssue | null; readonly cpuMs: number }
  /** The schema used up its CPU time or memory, at this payload; null while it was compiled. */
  | { readonly status: 'exhausted'; readonly position: number | null }
  /** The machine did not give the thread its CPU time before the wall limit. */
  | { readonly status: 'starved' };

export interface JobLimits {
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** A thread that runs jobs one at a time. */
export interface SchemaThread {
  /** Runs a job. The thread must be alive and idle. */
  run(job: SchemaJob, limits: JobLimits): Promise<SchemaOutcome>;
  /** False once the thread has ended or was killed. */
  isAlive(): boolean;
  kill(): void;
}

/** Old-space heap of a thread: the cache of `thread-program.ts`, and the largest schema that its CPU time can compile. */
const MAX_HEAP_MB = 128;
/** Shortest time between two readings of a thread's CPU time, each of which interrupts it. */
const MIN_CHECK_INTERVAL_MS = 5;
/** A killed thread ends within milliseconds, unless V8 does not return from native code. */
const END_TIMEOUT_MS = 5_000;

/** A thread starts in 0.1 s of CPU time. */
const START_TIMEOUT_MS = 10_000;

/**
 * Starts a thread. It has no environment variables, and keeps the process alive only during a job.
 * @param program answers when it is ready, and then each job
 */
export function startThread(
  log: Pick<Logger, 'warn' | 'error'>,
  program: URL = new URL('./thread-program.ts', import.meta.url),
): SchemaThread {
  const progress = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(program, {
    name: 'schemas',
    workerData: progress,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: 16 },
  });
  worker.unref();
  let isAlive = true;
  /** CPU time when the thread became idle. */
  let idleCpuMs = 0;
  let settle: ((outcome: SchemaOutcome) => void) | null = null;
  const position = () => {
    const stored = Atomics.load(progress, 0);
    return stored === -1 ? null : stored;
  };
  const end = () => {
    isAlive = false;
    settle?.({ status: 'exhausted', position: position() });
  };
  worker.on('error', (error) => {
    log.error({ err: error }, 'a schema thread failed');
    end();
  });
  worker.on('exit', end);
  const kill = () => {
    if (!isAlive) return;
    isAlive = false;
    const timer = setTimeout(() => log.error({}, 'a schema thread does not end; restart the process'), END_TIMEOUT_MS);
    timer.unref();
    worker.once('exit', () => clearTimeout(timer));
    void worker.terminate();
  };
  const started = Promise.withResolvers<void>();
  worker.once('message', ({ totalCpuMs }: SchemaAnswer) => {
    idleCpuMs = totalCpuMs;
    started.resolve();
  });
  worker.once('exit', () => started.resolve());

  return {
    isAlive: () => isAlive,
    kill,
    async run(job, { cpuMs, wallMs }) {
      worker.ref();
      const startTimer = setTimeout(() => {
        log.error({}, 'a schema thread does not start');
        kill();
        started.resolve();
      }, START_TIMEOUT_MS);
      await started.promise;
      clearTimeout(startTimer);
      if (!isAlive) return { status: 'starved' };
      const startCpuMs = idleCpuMs;
      return new Promise((resolve) => {
        let usedCpuMs: number | null = null;
        const finish = (outcome: SchemaOutcome) => {
          if (settle !== finish) return;
          settle = null;
          clearTimeout(cpuTimer);
          clearTimeout(wallTimer);
          worker.removeListener('message', onAnswer);
          worker.unref();
          resolve(outcome);
        };
        const onAnswer = ({ issue, totalCpuMs }: SchemaAnswer) => {
          idleCpuMs = totalCpuMs;
          const used = totalCpuMs - startCpuMs;
          finish(
            used <= cpuMs
              ? { status: 'checked', issue, cpuMs: used }
              : { status: 'exhausted', position: issue?.position ?? position() },
          );
        };
        const killFor = (outcome: SchemaOutcome) => {
          kill();
          finish(outcome);
        };
        const checkCpu = async () => {
          const totalCpuMs = await readCpuMs(worker);
          // The answer may have come during the reading, and the next job may have begun.
          if (settle !== finish || totalCpuMs === null) return;
          usedCpuMs = totalCpuMs - startCpuMs;
          if (usedCpuMs >= cpuMs) killFor({ status: 'exhausted', position: position() });
          else cpuTimer = setTimeout(checkCpu, Math.max(MIN_CHECK_INTERVAL_MS, cpuMs - usedCpuMs));
        };
        settle = finish;
        // The CPU time of one thread cannot exceed the wall time, so that most jobs end before the first check.
        let cpuTimer = setTimeout(checkCpu, cpuMs);
        const wallTimer = setTimeout(() => {
          // A CPU time that cannot be read is one that the thread uses without a pause.
          killFor(usedCpuMs === null ? { status: 'exhausted', position: position() } : { status: 'starved' });
        }, wallMs);
        worker.on('message', onAnswer);
        worker.postMessage(job);
      });
    },
  };
}

/** Reads a thread's CPU time, also while it is in a loop; null when it has ended, or on Node before 24.6. */
async function readCpuMs(worker: Worker): Promise<number | null> {
  try {
    const { user, system } = await worker.cpuUsage();
    return (user + system) / 1_000;
  } catch {
    return null;
  }
}
