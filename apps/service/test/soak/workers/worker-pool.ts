import { expireHeartbeats } from '@flywheel/testing/jobs';
import type { World } from '@flywheel/testing/world';
import type { Step } from './stepped-worker.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

/** Worker processes, each replaced as soon as it is killed. */
export interface WorkerPool {
  /** SIGKILL to one of them, whatever it is doing. Resolves when it is dead. */
  killAny(random: () => number): Promise<void>;
  /** Resolves when all that live take jobs. */
  ready(): Promise<void>;
  stop(): Promise<void>;
}

/** Whether the process that is at this step shall die there. It waits there for the answer. */
export type Decide = (step: Step) => Promise<'go on' | 'die'>;

export function startWorkerPool(world: World, size: number, decide: Decide): WorkerPool {
  let stopping = false;
  const start = (place: number): Worker => {
    const { promise: replaced, resolve: replacedNow } = Promise.withResolvers<void>();
    const process = startWorkerProcess(world.environment, async (step) => {
      worker.heldJobs.add(step.job.id);
      if (!stopping && (await decide(step)) === 'die') {
        await replace(place, worker);
        await new Promise(() => undefined); // whoever died at a step does not go on from it
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
  /** What dies with it. */
  readonly heldJobs: Set<string>;
  isKilled: boolean;
  /** Another has been started in its place. */
  readonly replaced: Promise<void>;
  replacedNow(): void;
}
