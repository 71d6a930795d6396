import { settleBundles } from './batches/bundles/land.ts';
import { createMultisigCheck, type MultisigCheck, type OwnKeys } from './batches/check/multisig.ts';
import type { Deps, NoncePool, RunDeps, WorkerDeps } from './batches/deps.ts';
import { closeBatch } from './batches/jobs/close.ts';
import { endCancelled, endOpen, endUnadmitted, endUnpayable } from './batches/jobs/end.ts';
import { executePipelines } from './batches/jobs/execute-pipelines.ts';
import { reportFailure } from './batches/jobs/execution-issues.ts';
import { refillNonces } from './batches/jobs/nonce-pool.ts';
import { setUpBatch } from './batches/jobs/setup.ts';
import { type Turn, takeTurns } from './batches/turn.ts';
import { reviewChanges } from './company/review-changes.ts';
import { signSuccessions } from './company/sign-successions.ts';
import type { Batch, BatchWithoutPipelines } from './model/batch.ts';
import { createFairGate } from './model/fair-gate.ts';
import type { Project } from './model/project.ts';
import { keepPartitions, packBatches, type Retention } from './retention.ts';
import type { SignerKeys } from './signers.ts';
import { type BundleSenderOptions, createBundleSender } from './solana/bundles.ts';
import { findBatch, findBatchWithoutPipelines } from './store/batches/batches.ts';
import { findLandedSlot } from './store/batches/bundles.ts';
import { Cancelled } from './store/batches/cancellations.ts';
import { Ended } from './store/batches/ends.ts';
import { beginRun } from './store/batches/runs.ts';
import { Moving, Paused } from './store/company/pauses.ts';
import { countSignedTerms } from './store/company/terms.ts';
import type { Job, Jobs, SingleJob } from './store/jobs/jobs.ts';
import { isRefillDue } from './store/nonce-demand.ts';
import { findNonces } from './store/nonces.ts';
import { requireProject } from './store/projects/projects.ts';
import { hasDeparted } from './store/shards/directory.ts';
import { recordWorkerKeys } from './store/shards/worker-keys.ts';

export interface WorkerOptions {
  readonly signers: SignerKeys;
  readonly noncePool: NoncePool;
  /** Batches in flight, at most. */
  readonly maxBatches: number;
  readonly rotationGraceSeconds: number;
  readonly retention: Retention;
  readonly sending: Pick<
    BundleSenderOptions,
    'blockEngineUrl' | 'maxTipLamports' | 'maxComputeUnitPrice' | 'requestIntervalMs'
  >;
  /** Ends the start while it waits for the first nonce. */
  readonly signal?: AbortSignal;
}

/** Runs jobs until it is stopped. Another worker continues the jobs that are interrupted by the stop. */
export async function startWorker(
  deps: Deps & { readonly jobs: Jobs },
  options: WorkerOptions,
): Promise<{ stop(): Promise<void> }> {
  const { signal: ended } = options;
  const stopping = new AbortController();
  const endStart = () => stopping.abort(ended?.reason);
  // The start may have been ended before: a listener would wait for that in vain.
  if (ended?.aborted) endStart();
  ended?.addEventListener('abort', endStart, { once: true });
  try {
    return await startWorking(deps, options, stopping);
  } catch (error) {
    // The loops that have begun would keep a process alive that does nothing.
    stopping.abort(error);
    throw error;
  } finally {
    // A worker that has started works until its stop, which follows those of other parts: it would claim jobs only to fail them.
    ended?.removeEventListener('abort', endStart);
  }
}

async function startWorking(
  deps: Deps & { readonly jobs: Jobs },
  { signers, noncePool, maxBatches, rotationGraceSeconds, retention, sending }: WorkerOptions,
  stopping: AbortController,
): Promise<{ stop(): Promise<void> }> {
  const { signal: ending } = stopping;
  const { jobs, chain, clock, log } = deps;
  const bundles = createBundleSender({ ...sending, chain, clock, log, signal: ending });
  const { operator, previousOperator, company, previousCompany } = signers;
  const changes = [
    { role: 'operator', previous: previousOperator, present: operator.address },
    { role: 'company', previous: previousCompany, present: company.address },
  ] as const;
  await recordWorkerKeys(
    deps.db,
    changes.flatMap(({ role, previous, present }) =>
      [present, ...(previous === null ? [] : [previous.address])].map((address) => ({ role, address })),
    ),
  );
  await signSuccessions(deps, changes, ending);
  const workerDeps: WorkerDeps = {
    ...deps,
    operator,
    previousOperator,
    bundles,
    noncePool,
    rotationGraceSeconds,
    signal: ending,
  };
  const checkMultisig = createMultisigCheck(ownKeysOf(signers));
  const gate = createFairGate({ capacity: MAX_WORKING_BATCHES, clock });
  await jobs.work(
    (job, given, share) => {
      const signal = AbortSignal.any([ending, given]);
      const jobDeps = { ...workerDeps, signal, checkMultisig };
      return 'batchId' in job
        ? takeTurns({ gate, share, clock, signal }, (turn) => runBatchJob({ ...jobDeps, turn }, signers, job))
        : runSingleJob(jobDeps, retention, job);
    },
    { maxBatches },
  );
  await warnOfUnchangeableTerms(deps);
  await jobs.enqueue(deps.db, { type: 'review-changes' });
  // These are jobs, because the queue runs one of each at a time even if several workers start together.
  await jobs.enqueue(deps.db, { type: 'refill-nonces' });
  await jobs.enqueue(deps.db, { type: 'keep-partitions' });
  await jobs.enqueue(deps.db, { type: 'pack-batches' });
  const keeping = Promise.all([
    enqueueRegularly(workerDeps, { type: 'refill-nonces' }, REFILL_MS),
    enqueueRegularly(workerDeps, { type: 'keep-partitions' }, RETENTION_MS),
    enqueueRegularly(workerDeps, { type: 'pack-batches' }, RETENTION_MS),
  ]);
  await awaitNonces(workerDeps);
  return {
    stop: async () => {
      stopping.abort(new Error('The worker is stopping.'));
      await keeping;
      await jobs.stop();
    },
  };
}

/** Signed terms stay in force for a worker that knows no operators: rows of other processes must not replace them. */
async function warnOfUnchangeableTerms({ db, log, companyOperators }: Deps): Promise<void> {
  if (companyOperators.size > 0) return;
  const projects = await countSignedTerms(db);
  if (projects === 0) return;
  log.warn(
    { projects },
    'COMPANY_OPERATORS is empty: terms that operators have signed stay in force, and cannot change',
  );
}

/**
 * Batches that compile, sign, read and write at the same time; the others wait for the chain. The process's pool has ten
 * connections, so two stay free for everything else. More batches would only compete for the processor.
 */
const MAX_WORKING_BATCHES = 8;

/** Demand for nonces falls without a job that would say so: the pool becomes smaller after a burst. */
const REFILL_MS = 30_000;
/** Partitions are added months ahead. One that could not be dropped is tried again, and so is a batch that was not packed. */
const RETENTION_MS = 3_600_000;

async function enqueueRegularly(
  { db, jobs, clock, log, signal }: WorkerDeps,
  job: SingleJob,
  intervalMs: number,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(intervalMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    await jobs.enqueue(db, job).catch((err: unknown) => log.warn({ err, job }, 'a job could not be enqueued'));
  }
}

/** A new database's pool fills in about two seconds. The worker also starts when the cluster is unreachable. */
const MAX_AWAIT_NONCES_MS = 15_000;

/** Waits for the first nonce of the present operator, so that a service that reports ready can initialize batches. */
async function awaitNonces({ db, clock, log, operator, signal }: WorkerDeps): Promise<void> {
  const deadline = clock.now().getTime() + MAX_AWAIT_NONCES_MS;
  while (clock.now().getTime() < deadline) {
    if ((await findNonces(db, 'available', operator.address)).length > 0) return;
    await clock.sleep(50, signal);
  }
  log.warn(
    { waitedMs: MAX_AWAIT_NONCES_MS },
    'no nonce is available yet; init answers ERR_NONCE_POOL_EMPTY until then',
  );
}

function runSingleJob(deps: WorkerDeps, retention: Retention, { type }: SingleJob): Promise<void> {
  switch (type) {
    case 'review-changes':
      return reviewChanges(deps);
    case 'refill-nonces':
      return refillNonces({ ...deps, chain: deps.chain.view(0n, 'nonces') });
    case 'keep-partitions':
      return keepPartitions({ ...deps, retention });
    case 'pack-batches':
      return packBatches(deps, retention.archiveDays);
    default:
      throw new Error(`There is no job of type ${type satisfies never}.`);
  }
}

/**
 * Runs one job of a batch. The queue retries a job that throws: every step continues from the cursor on chain.
 */
async function runBatchJob(
  { checkMultisig, ...deps }: WorkerDeps & { readonly checkMultisig: MultisigCheck; readonly turn: Turn },
  signers: SignerKeys,
  job: BatchJob,
): Promise<void> {
  const found = await findBatchWithoutPipelines(deps.db, job.batchId);
  // A resumption of all projects may have enqueued it while the project left.
  if (!found && (await hasDeparted(deps.db, job))) return;
  if (!found) throw new Error(`Job ${job.type} refers to batch ${job.batchId}, which does not exist.`);
  const project = await requireProject(deps.db, found.projectId);
  const { operator, company } = signersOf(project, signers);
  const run = await beginRun(deps.db, found.flywheelId, job.type === 'setup' ? 'setup' : 'deciding');
  // One node answers the whole job, and none that has not reached what the earlier jobs have landed.
  const chain = deps.chain.view(await findLandedSlot(deps.db, found.flywheelId), found.id);
  const presentKeys = { operator: signers.operator.address, company: signers.company.address };
  const runDeps = { ...deps, chain, operator, company, presentKeys, run };
  try {
    if (maySign(job.type, found)) await checkMultisig(runDeps, project.flywheel.multisig);
    await workOnBatch(runDeps, job.type, project, await readWhole(deps, found));
  } catch (error) {
    if (!isStop(error)) {
      await reportFailure(runDeps, found, error);
      throw error;
    }
    // Resuming the project enqueues the job again; the job that cancels the batch, or closes its accounts, waits behind this one.
    // Bundles in flight are still followed to their end.
    deps.log.info({ batchId: found.id, job: job.type }, error.message);
    await settleBundles(runDeps, found);
    // The job moves with the project; if it does not move after all, it runs again here.
    if (error instanceof Moving) throw error;
  }
  // The pool may have changed: init leases a nonce, and the end of a batch returns one.
  const { size: shared, perAdmitted } = deps.noncePool;
  const pool = { authority: operator.address, least: { shared, perAdmitted } };
  if (await isRefillDue(deps.db, pool)) await deps.jobs.enqueue(deps.db, { type: 'refill-nonces' });
}

/**
 * Returns false for jobs that only record the end that the chain shows, or find that there is one. They run also for a project that
 * a lost operator without a recovery key has locked: its batches expire, and clients can cancel them.
 */
function maySign(type: BatchJob['type'], { status }: BatchWithoutPipelines): boolean {
  if (type === 'expire' || type === 'cancel') return false;
  return type === 'close' || status !== 'FAILED';
}

/** Returns true if a job was stopped, and has not failed. */
function isStop(error: unknown): error is Error {
  return [Paused, Moving, Cancelled, Ended].some((stop) => error instanceof stop);
}

/** Returns the previous signers for projects that were not rotated to the present ones yet. */
function signersOf(
  { flywheel: { multisig } }: Project,
  { operator, previousOperator, company, previousCompany }: SignerKeys,
): Pick<SignerKeys, 'operator' | 'company'> {
  return {
    operator: previousOperator?.address === multisig.operator ? previousOperator : operator,
    company: previousCompany?.address === multisig.company ? previousCompany : company,
  };
}

function ownKeysOf({ operator, previousOperator, company, previousCompany }: SignerKeys): OwnKeys {
  return {
    companies: new Set([company, previousCompany].flatMap((key) => key?.address ?? [])),
    operator: operator.address,
    previousOperator: previousOperator?.address ?? null,
  };
}

async function readWhole({ db }: Deps, { id }: BatchWithoutPipelines): Promise<Batch> {
  const batch = await findBatch(db, id);
  if (!batch) throw new Error(`Batch ${id} disappeared while its job was starting.`);
  return batch;
}

async function workOnBatch(deps: RunDeps, type: BatchJob['type'], project: Project, batch: Batch): Promise<void> {
  switch (type) {
    case 'setup':
      return (await endUnpayable(deps, project, batch)) ? undefined : setUpBatch(deps, project, batch);
    case 'execute':
      if (await endUnadmitted(deps, project, batch)) return;
      return (await endUnpayable(deps, project, batch)) ? undefined : executePipelines(deps, project, batch);
    case 'expire':
      return endOpen(deps, project, batch, 'expired');
    case 'cancel':
      return endCancelled(deps, project, batch);
    case 'close':
      return closeBatch(deps, project, batch);
    default:
      throw new Error(`There is no job of type ${type satisfies never}.`);
  }
}

type BatchJob = Extract<Job, { batchId: string }>;
