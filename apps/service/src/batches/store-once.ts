import { createHash, randomUUID } from 'node:crypto';
import { ApiError, type BatchKind, type InitWarning } from '@flywheel/api';
import type { DailyTotals } from '../model/amount.ts';
import type { Batch, CompiledPipeline } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { findBatchByIdempotencyKey, insertBatch, takeBatchIndex } from '../store/batches/batches.ts';
import { findOpenRotation } from '../store/batches/rotations.ts';
import type { Db } from '../store/db.ts';
import { leaseNonce } from '../store/landing/nonces.ts';
import type { Deps } from './deps.ts';
import { requireUnpausedProject } from './refuse-paused.ts';

export interface StoreRequest {
  readonly project: Project;
  readonly kind: BatchKind;
  /** Lowercase. Batches of another kind have keys of their own. */
  readonly idempotencyKey: string;
  /** The body as JSON: the same key takes the same body only. */
  readonly body: unknown;
}

export interface StoredBatch {
  readonly batch: Batch;
  readonly warnings: readonly InitWarning[];
  /** True when the same request was answered before. */
  readonly replayed: boolean;
}

/** What a batch takes of its day's limits, and what there is to say of it. */
export interface Admission {
  readonly reserved: { readonly day: string; readonly totals: DailyTotals };
  readonly warnings: readonly InitWarning[];
}

export interface StoreSteps {
  /** Outside any database transaction. */
  readonly compile: () => Promise<readonly CompiledPipeline[]>;
  /** Holds the batch against its bounds, while no other batch of the project can be stored. */
  readonly admit: (trx: Db, pipelines: readonly CompiledPipeline[]) => Promise<Admission>;
  /** What else is to be written if and only if the batch is. */
  readonly record?: (trx: Db, batch: Batch) => Promise<void>;
}

/**
 * Stores a batch once for its idempotency key, with its index and nonce taken in the same database transaction, and has
 * it set up on chain behind.
 * @throws ApiError ERR_DUPLICATE_IDEMPOTENCY_KEY, ERR_PAUSED, ERR_ROTATION_OPEN, ERR_NONCE_POOL_EMPTY, and what the steps throw.
 */
export async function storeOnce(deps: Deps, request: StoreRequest, steps: StoreSteps): Promise<StoredBatch> {
  const requestHash = hashOf(request.body);
  const seen = await findReplay(deps.db, request, requestHash);
  if (seen) return seen;
  await requireUnpausedProject(deps, request.project);
  const pipelines = await steps.compile();
  try {
    return await deps.db
      .transaction()
      .execute((trx) => store(deps, trx, { ...request, requestHash }, pipelines, steps));
  } catch (error) {
    if (error instanceof SeenMeanwhile) return error.replay;
    // The refill must outlive the transaction that found the pool empty.
    if (error instanceof ApiError && error.code === 'ERR_NONCE_POOL_EMPTY') {
      await deps.jobs.enqueue(deps.db, { type: 'refill-nonces' });
    }
    throw error;
  }
}

/** The same request was stored by another connection while this one waited for the project's lock. */
class SeenMeanwhile extends Error {
  readonly replay: StoredBatch;
  constructor(replay: StoredBatch) {
    super('The same idempotency key was stored meanwhile.');
    this.replay = replay;
  }
}

/** The pool grows by a few transactions of the operator's; a client that waits this long finds it refilled. */
export const NONCE_REFILL_SECONDS = 5;

async function store(
  { jobs, clock, batchExpirySeconds }: Deps,
  trx: Db,
  request: StoreRequest & { readonly requestHash: Uint8Array },
  pipelines: readonly CompiledPipeline[],
  { admit, record }: StoreSteps,
): Promise<StoredBatch> {
  const { project, kind, idempotencyKey, requestHash } = request;
  const { token, flywheel } = project;
  // Taking the index locks the flywheel's row: from here on this project's batches are stored one after another.
  const batchIndex = await takeBatchIndex(trx, flywheel.id);
  const seen = await findReplay(trx, request, requestHash);
  if (seen) throw new SeenMeanwhile(seen);
  if (kind !== 'rotation') await refuseWhileRotating(trx, flywheel.id);
  const { reserved, warnings } = await admit(trx, pipelines);

  const now = clock.now();
  const id = randomUUID();
  const nonce = await leaseNonce(trx, id);
  if (!nonce) throw new ApiError('ERR_NONCE_POOL_EMPTY', { retryAfterSeconds: NONCE_REFILL_SECONDS });
  const batch: Batch = {
    id,
    projectId: project.id,
    flywheelId: flywheel.id,
    tokenId: token.id,
    kind,
    status: 'AVAILABLE_TO_QUEUE',
    batchIndex,
    pipelines,
    nonce,
    signedTx: null,
    initResult: null,
    executeResult: null,
    executionError: null,
    createdAt: now,
    updatedAt: now,
    endedAt: null,
  };
  await insertBatch(trx, batch, { key: idempotencyKey, requestHash }, reserved, warnings);
  await record?.(trx, batch);
  const job = { batchId: id, multisig: flywheel.multisig.address };
  const startAfter = new Date(now.getTime() + batchExpirySeconds * 1_000);
  await jobs.enqueue(trx, { type: 'setup', ...job });
  await jobs.enqueue(trx, { type: 'expire', ...job }, { startAfter });
  return { batch, warnings, replayed: false };
}

/** What is made while an approver is being replaced could never be approved by either. */
async function refuseWhileRotating(trx: Db, flywheelId: string): Promise<void> {
  const batchId = await findOpenRotation(trx, flywheelId);
  if (batchId !== null) throw new ApiError('ERR_ROTATION_OPEN', { batchId });
}

async function findReplay(
  db: Db,
  { project, kind, idempotencyKey }: StoreRequest,
  requestHash: Uint8Array,
): Promise<StoredBatch | null> {
  const seen = await findBatchByIdempotencyKey(db, project.id, idempotencyKey, kind);
  if (!seen) return null;
  if (Buffer.compare(seen.requestHash, requestHash) !== 0) {
    throw new ApiError('ERR_DUPLICATE_IDEMPOTENCY_KEY', { idempotencyKey });
  }
  return { batch: seen.batch, warnings: seen.warnings, replayed: true };
}

/** Two bodies are the same when they are the same JSON, whatever their spacing and the order of their members. */
function hashOf(body: unknown): Uint8Array {
  const canonical = JSON.stringify(body, (_name, value: unknown) => (isObject(value) ? sortMembers(value) : value));
  return createHash('sha256')
    .update(canonical ?? '')
    .digest();
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sortMembers(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
