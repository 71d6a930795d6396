import { settleBundles } from './batches/bundles/land.ts';
import type { Deps, WorkerDeps } from './batches/deps.ts';
import type { RunDeps } from './batches/in-run.ts';
import { closeBatch } from './batches/jobs/close.ts';
import { endOpen } from './batches/jobs/end.ts';
import { reportFailure } from './batches/jobs/execution-issues.ts';
import { forgetForeignNonces, refillNonces } from './batches/jobs/refill-nonces.ts';
import { runBatch } from './batches/jobs/run.ts';
import { setUpBatch } from './batches/jobs/setup.ts';
import type { Batch, BatchWithoutPipelines } from './model/batch.ts';
import type { Project } from './model/project.ts';
import type { SignerKeys } from './signers.ts';
import { type BundleSenderOptions, createBundleSender } from './solana/bundles.ts';
import { findBatch, findBatchWithoutPipelines } from './store/batches/batches.ts';
import { beginRun } from './store/batches/runs.ts';
import { Paused } from './store/company/pauses.ts';
import type { Job, Jobs } from './store/jobs/jobs.ts';
import { findNonces } from './store/landing/nonces.ts';
import { findProjectOfBatch } from './store/projects/projects.ts';

export interface WorkerOptions {
  readonly signers: SignerKeys;
  readonly noncePoolSize: number;
  readonly sending: Pick<BundleSenderOptions, 'blockEngineUrl' | 'maxTipLamports' | 'maxComputeUnitPrice'>;
}

/** Takes jobs until it is stopped; what is in hand then is given back and goes on elsewhere. */
export async function startWorker(
  deps: Deps,
  jobs: Jobs,
  { signers, noncePoolSize, sending }: WorkerOptions,
): Promise<{ stop(): Promise<void> }> {
  const stopping = new AbortController();
  const { chain, clock, log } = deps;
  const bundles = createBundleSender({ ...sending, chain, clock, log, signal: stopping.signal });
  const { operator, company } = signers;
  const workerDeps: WorkerDeps = { ...deps, operator, company, bundles, noncePoolSize, signal: stopping.signal };
  await jobs.work((job, signal) => {
    return work({ ...workerDeps, signal: AbortSignal.any([stopping.signal, signal]) }, signers, job);
  });
  await forgetForeignNonces(workerDeps);
  // By the queue, which runs one refill at a time however many workers start at once.
  await jobs.enqueue(deps.db, { type: 'refill-nonces' });
  await awaitNonces(deps);
  return {
    stop: async () => {
      stopping.abort(new Error('The worker is stopping.'));
      await jobs.stop();
    },
  };
}

/** The pool of a new database takes about two seconds to fill; a cluster out of reach is no reason not to start. */
const MAX_AWAIT_NONCES_MS = 15_000;

/** A service that says it is ready has nonces to lease. */
async function awaitNonces({ db, clock, log }: Deps): Promise<void> {
  const deadline = clock.now().getTime() + MAX_AWAIT_NONCES_MS;
  while (clock.now().getTime() < deadline) {
    if ((await findNonces(db, 'available')).length > 0) return;
    await clock.sleep(50);
  }
  log.warn({ waitedMs: MAX_AWAIT_NONCES_MS }, 'no nonce is free yet: init answers ERR_NONCE_POOL_EMPTY until one is');
}

/** One job of the queue. Throws to have it tried again: every step goes on from the chain’s cursor. */
async function work(deps: WorkerDeps, signers: SignerKeys, job: Job): Promise<void> {
  if (job.type === 'refill-nonces') return refillNonces(deps);
  const found = await findBatchWithoutPipelines(deps.db, job.batchId);
  if (!found) throw new Error(`Job ${job.type} names batch ${job.batchId}, which does not exist.`);
  const project = await findProjectOfBatch(deps.db, found);
  const company = companyOf(project, signers);
  const runDeps = { ...deps, company, run: await beginRun(deps.db, found.flywheelId) };
  try {
    await workOnBatch(runDeps, job.type, project, await readWhole(deps, found));
  } catch (error) {
    if (!(error instanceof Paused)) {
      await reportFailure(runDeps, found, error);
      throw error;
    }
    // Whoever lets it go on has the work taken up again; what is on its way is still followed to its end.
    deps.log.info({ batchId: found.id, job: job.type }, error.message);
    await settleBundles(runDeps, found);
  }
  // Init leased a nonce, the end gave one back: either way the pool has moved.
  await deps.jobs.enqueue(deps.db, { type: 'refill-nonces' });
}

/** A project that was not moved to the present approver still has the one of before vote for it. */
function companyOf({ flywheel }: Project, { company, previousCompany }: SignerKeys): SignerKeys['company'] {
  return previousCompany?.address === flywheel.multisig.company ? previousCompany : company;
}

async function readWhole({ db }: Deps, { id }: BatchWithoutPipelines): Promise<Batch> {
  const batch = await findBatch(db, id);
  if (!batch) throw new Error(`Batch ${id} vanished.`);
  return batch;
}

async function workOnBatch(deps: RunDeps, type: BatchJob['type'], project: Project, batch: Batch): Promise<void> {
  switch (type) {
    case 'setup':
      return setUpBatch(deps, project, batch);
    case 'execute':
      return runBatch(deps, project, batch);
    case 'expire':
      return endOpen(deps, project, batch, 'expired');
    case 'cancel':
      return endOpen(deps, project, batch, 'cancelled');
    case 'close':
      return closeBatch(deps, project, batch);
    default:
      throw new Error(`Job ${type satisfies never} is of no known type.`);
  }
}

type BatchJob = Extract<Job, { batchId: string }>;
