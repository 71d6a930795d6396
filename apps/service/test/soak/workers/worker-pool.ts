import { expireHeartbeats } from '@flywheel/testing/jobs';
import type { World } from '@flywheel/testing/world';
import type { Step } from './stepped-worker.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

/** Worker processes, each of which is replaced as soon as it is killed. */
export interface WorkerPool {
  /** Kills one of them with SIGKILL, whatever it is doing; resolves when it is dead. */
  killAny(random: () => number): Promise<void>;
  /** Resolves when all live workers take jobs, or when the pool stops. */
  ready(): Promise<void>;
  stop(): Promise<void>;
}

/** Decides if the process that waits at this step dies there. */
export type Decide = (step: Step) => Promise<'go on' | 'die'>;

/** Starts as many workers of a world, with these variables. */
export function startWorkerPool(
  world: World,
  environment: World['environment'],
  size: number,
  decide: Decide,
): WorkerPool {
  let stopping = false;
  const start = (place: number): Worker => {
    const { promise: replaced, resolve: replacedNow } = Promise.withResolvers<void>();
    const process = startWorkerProcess(environment, async (step) => {
      // A job is held by the process that took it last: an attempt that fails is not reported.
      for (const { heldJobs } of workers) heldJobs.delete(step.job.id);
      worker.heldJobs.add(step.job.id);
      if (!stopping && (await decide(step)) === 'die') {
        await replace(place, worker);
        await new Promise(() => undefined); // a process that died at a step does not continue
      }
      if (step.name.endsWith(': done')) worker.heldJobs.delete(step.job.id);
    });
    const worker: Worker = { process, heldJobs: new Set(), isKilled: false, replaced, replacedNow };
    return worker;
  };
  const replace = async (place: number, worker: Worker): Promise<void> => {
    worker.isKilled = true;
    await worker.process.kill();
    await expireHeartbeats(world, [...worker.heldJobs]);
    if (workers[place] === worker && !stopping) workers[place] = start(place);
    worker.replacedNow();
  };
  const workers = Array.from({ length: size }, (_, place) => start(place));
  return {
    killAny: async (random) => {
      const place = Math.floor(random() * size);
      const worker = workers[place];
      if (!worker) throw new Error(`There is no worker ${place}.`);
      await replace(place, worker);
    },
    ready: async () => {
      for (let place = 0; place < size; ) {
        const worker = workers[place];
        if (await worker?.process.ready) place += 1;
        // A stop ends workers that are starting; its cause is the failure to report.
        else if (stopping) return;
        else if (!worker?.isKilled) throw new Error(`Worker ${place} could not start.`);
        else await worker.replaced;
      }
    },
    stop: async () => {
      stopping = true;
      await Promise.all(workers.map(({ process }) => process.stop()));
    },
  };
}

interface Worker {
  readonly process: WorkerProcess;
  /** Jobs that die with the process. */
  readonly heldJobs: Set<string>;
  isKilled: boolean;
  /** Resolves when a replacement has started. */
  readonly replaced: Promise<void>;
  replacedNow(): void;
}
