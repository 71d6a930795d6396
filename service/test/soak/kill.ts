import { setTimeout as sleep } from 'node:timers/promises';
import type { Role } from '../../src/app.ts';
import { openWorld } from '../world.ts';
import { assertExact, awaitEnds, awaitIdle, startLoad } from './soak.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

const HTTP_ONLY: ReadonlySet<Role> = new Set(['http']);

export interface KillOptions {
  readonly workers: number;
  readonly kills: number;
  readonly projects: number;
  readonly batches: number;
  readonly pipelinesPerBatch: number;
  /** In [0, 1); of a seed, so that a run can be told again. */
  readonly random: () => number;
}

/** A dead worker’s job is taken over within heartbeat (10 s), supervision and retry. */
const TAKEOVER_SECONDS = 30;

/**
 * Executes batches while worker processes are killed with SIGKILL at random moments, each replaced at once; then every
 * token has moved exactly once and nothing is left behind. Answers how many were killed.
 */
export async function soakKills(options: KillOptions): Promise<number> {
  const { workers: workerCount, kills, random } = options;
  const world = await openWorld({ LOG_LEVEL: 'fatal' }, { roles: HTTP_ONLY });
  const workers: WorkerProcess[] = [];
  try {
    for (let i = 0; i < workerCount; i++) workers.push(startWorkerProcess(world.environment));
    await allReady(workers);
    const load = startLoad(world, {
      projectCount: options.projects,
      batchCount: options.batches,
      pipelinesPerBatch: options.pipelinesPerBatch,
    });
    for (let killed = 0; killed < kills; killed++) {
      await sleep(100 + random() * 900);
      const victim = Math.floor(random() * workers.length);
      await workers[victim]?.kill();
      const next = startWorkerProcess(world.environment);
      workers[victim] = next;
      // Now and then one dies before it has taken a job.
      if (random() < 0.8) await next.ready;
    }
    const loaded = await load;
    await allReady(workers);
    const seconds = TAKEOVER_SECONDS + options.batches * 2;
    await awaitEnds(world, loaded, seconds);
    await assertExact(world, loaded);
    await awaitIdle(world, loaded, seconds);
    return kills;
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await world.stop();
  }
}

async function allReady(workers: readonly WorkerProcess[]): Promise<void> {
  for (const { ready } of workers) if (!(await ready)) throw new Error('A worker could not start.');
}
