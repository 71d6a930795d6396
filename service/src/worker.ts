import type { Deps, WorkerDeps } from './batches/deps.ts';
import { refillNonces } from './batches/work/refill-nonces.ts';
import { runBatch } from './batches/work/run.ts';
import { setUpBatch } from './batches/work/setup.ts';
import type { Signers } from './signers.ts';
import { createBundleSender } from './solana/bundles.ts';
import { findBatch } from './store/batches.ts';
import type { Job, Jobs } from './store/jobs.ts';
import { findProjectOfBatch } from './store/projects.ts';

export interface WorkerOptions {
  readonly signers: NonNullable<Signers['keys']>;
  readonly blockEngineUrl: string | null;
  readonly noncePoolSize: number;
}

/** Takes jobs until it is stopped; what is in hand then is given back and goes on elsewhere. */
export async function startWorker(
  deps: Deps,
  jobs: Jobs,
  { signers, blockEngineUrl, noncePoolSize }: WorkerOptions,
): Promise<{ stop(): Promise<void> }> {
  const stopping = new AbortController();
  const { chain, clock, log } = deps;
  const bundles = createBundleSender({ chain, blockEngineUrl, clock, log, signal: stopping.signal });
  const workerDeps: WorkerDeps = { ...deps, ...signers, bundles, noncePoolSize, signal: stopping.signal };
  // A service that says it is ready has nonces to lease.
  await refillNonces(workerDeps);
  await jobs.work((job, signal) => {
    return work({ ...workerDeps, signal: AbortSignal.any([stopping.signal, signal]) }, job);
  });
  return {
    stop: async () => {
      stopping.abort(new Error('The worker is stopping.'));
      await jobs.stop();
    },
  };
}

/** One job of the queue. Throws to have it tried again: every step goes on from the chain’s cursor. */
async function work(deps: WorkerDeps, job: Job): Promise<void> {
  switch (job.type) {
    case 'refill-nonces':
      return refillNonces(deps);
    case 'setup':
    case 'execute':
      return workOnBatch(deps, job);
    default:
      throw new Error(`Job ${JSON.stringify(job satisfies never)} is of no known type.`);
  }
}

async function workOnBatch(deps: WorkerDeps, { type, batchId }: Extract<Job, { batchId: string }>): Promise<void> {
  const batch = await findBatch(deps.db, batchId);
  if (!batch) throw new Error(`Job ${type} names batch ${batchId}, which does not exist.`);
  const project = await findProjectOfBatch(deps.db, batch);
  if (type === 'setup') await setUpBatch(deps, project.flywheel.multisig, batch);
  else await runBatch(deps, project, batch);
  // Init leased a nonce, the end gave one back: either way the pool has moved.
  await deps.jobs.enqueue(deps.db, { type: 'refill-nonces' });
}
