import { hash, randomUUID } from 'node:crypto';
import { ApiError, type BatchKind, type InitWarning, isApiError } from '@flywheel/api';
import { isJsonObject } from '@flywheel/protocol';
import { type Batch, type CompiledPipeline, expiresAtOf } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { insertAuditEntry, type NewAuditEntry } from '../store/audit.ts';
import { findBatchByIdempotencyKey } from '../store/batches/batches.ts';
import { insertBatch, isDuplicateKey, takeBatchIndex } from '../store/batches/new-batches.ts';
import { type BeginningFacts, findBeginningFacts } from '../store/company/pauses.ts';
import type { Db } from '../store/db.ts';
import { type Lease, leaseNonce } from '../store/nonces.ts';
import {
  type Asked,
  admitBatch,
  admitUnadmitted,
  computeAsked,
  type LockedCandidate,
  type UnreadTokenAccounts,
  unadmittedErrorOf,
} from './admission.ts';
import type { Deps } from './deps.ts';
import type { ReadTokenAccounts } from './policy/at-init.ts';
import { readTokenAccounts } from './policy/token-accounts.ts';

/** Identifies the request that creates a batch. Each kind of batch has idempotency keys of its own. */
export interface BatchKey {
  readonly project: Project;
  readonly kind: BatchKind;
  /** Lowercase. */
  readonly idempotencyKey: string;
  /** From `hashRequest`. The same key is accepted again with the same body only. */
  readonly requestHash: Uint8Array;
}

export interface NewBatch {
  /** True for pipelines of a project for which `findBeginning` has found rules. */
  readonly hasRules?: boolean;
  /** The API key that asks; null for the console. */
  readonly keyId: string | null;
  readonly pipelines: readonly CompiledPipeline[];
  /** Warnings found before the batch is admitted. */
  readonly warnings?: readonly InitWarning[];
  /** Audit entry to write with the batch; null for API keys. */
  readonly audit: Omit<NewAuditEntry, 'at' | 'projectId' | 'batchId'> | null;
}

export interface CreatedBatch {
  readonly batch: Batch;
  readonly warnings: readonly InitWarning[];
  /** True when an earlier request with the same key created it. */
  readonly replayed: boolean;
}

/**
 * Creates the batch of an idempotency key, or returns the one that the key created before. One database transaction
 * reserves limits, takes the batch index, leases a nonce, inserts all rows and enqueues the jobs `setup` and `expire`. If the
 * pool of nonces is empty, the transaction is undone, and made again when there are some, within ten seconds.
 * @throws ApiError ERR_DUPLICATE_IDEMPOTENCY_KEY, ERR_NONCE_POOL_EMPTY, and those of `admitBatch`.
 */
export async function createBatchIdempotently(deps: Deps, key: BatchKey, newBatch: NewBatch): Promise<CreatedBatch> {
  const { keyId, pipelines, hasRules } = newBatch;
  const asked = await computeAsked(deps, { project: key.project, kind: key.kind, keyId, pipelines }, hasRules);
  let read: ReadTokenAccounts | null = null;
  for (let times = 1; ; times++) {
    const created = await leaseAndWrite(deps, key, { ...newBatch, asked, read });
    if (!('unreadOn' in created)) return created;
    read = { missing: await readTokenAccounts(deps, key.project, pipelines, created.unreadOn), times };
  }
}

/** A batch as one transaction writes it. */
interface WrittenBatch extends NewBatch, Pick<LockedCandidate, 'read'> {
  readonly asked: Asked;
}

async function leaseAndWrite(
  deps: Deps,
  key: BatchKey,
  written: WrittenBatch,
): Promise<CreatedBatch | UnreadTokenAccounts> {
  using ticket = deps.nonceQueue.enter(key.project);
  for (;;) {
    await ticket.turn();
    const created = await writeOrFind(deps, key, written);
    if (created !== POOL_EMPTY) return created;
  }
}

/** Writes the batch, or finds the one that another request with the same key has created since this one began. */
async function writeOrFind(deps: Deps, key: BatchKey, written: WrittenBatch): Promise<CreatedBatch | Unwritten> {
  try {
    const { isShareRunningOut, ...created } = await deps.db
      .transaction()
      .execute((trx) => writeBatch(deps, trx, key, written));
    // Afterwards, because all others that ask for a refill wait for the end of a transaction that does.
    if (isShareRunningOut) await deps.jobs.enqueue(deps.db, { type: 'refill-nonces' });
    return created;
  } catch (thrown) {
    const error = unadmittedErrorOf(deps, thrown, written.asked) ?? thrown;
    const isUndone = error instanceof Undone;
    if (!isUndone && !isApiError(error) && !isDuplicateKey(error)) throw error;
    const earlier = await findCreatedBatch(deps.db, key);
    if (earlier) return earlier;
    if (isUndone) return error.outcome;
    if (isApiError(error, 'ERR_CAP_REACHED')) {
      const { scope, kind } = error.context.cap;
      deps.metrics.capRefusals.inc({ scope, kind });
    }
    throw error;
  }
}

const POOL_EMPTY = 'pool-empty';

/** What kept a batch from being written, and may be different at the next attempt. */
type Unwritten = typeof POOL_EMPTY | UnreadTokenAccounts;

/** Thrown in a transaction to undo it. */
class Undone extends Error {
  readonly outcome: Unwritten;
  constructor(outcome: Unwritten) {
    super('The transaction of this batch is undone.');
    this.outcome = outcome;
  }
}

/** The facts that decide first about a request for a batch. */
export interface Beginning extends Omit<BeginningFacts, 'batchId'> {
  /** The batch that its key created before. All else only matters without one. */
  readonly earlier: CreatedBatch | null;
}

/**
 * Finds the batch that an idempotency key created before, and what halts its project.
 * @throws ApiError ERR_DUPLICATE_IDEMPOTENCY_KEY when the batch was created from another body.
 */
export async function findBeginning(db: Db, key: BatchKey): Promise<Beginning> {
  const { project, kind, idempotencyKey } = key;
  const { id: projectId, flywheel } = project;
  const question = { projectId, kind, idempotencyKey, multisig: flywheel.multisig.address };
  const { batchId, ...facts } = await findBeginningFacts(db, question);
  return { earlier: batchId === null ? null : await findCreatedBatch(db, key), ...facts };
}

/**
 * Finds the batch that an idempotency key created before.
 * @throws ApiError ERR_DUPLICATE_IDEMPOTENCY_KEY when it was created from another body.
 */
async function findCreatedBatch(
  db: Db,
  { project, kind, idempotencyKey, requestHash }: BatchKey,
): Promise<CreatedBatch | null> {
  const found = await findBatchByIdempotencyKey(db, project.id, idempotencyKey, kind);
  if (!found) return null;
  if (Buffer.compare(found.requestHash, requestHash) !== 0) {
    throw new ApiError('ERR_DUPLICATE_IDEMPOTENCY_KEY', { idempotencyKey });
  }
  return { batch: found.batch, warnings: found.warnings, replayed: true };
}

/** Hashes a JSON body (SHA-256). Spacing and the order of object members do not change the hash. */
export function hashRequest(body: unknown): Uint8Array {
  const canonical = JSON.stringify(body, (_name, value: unknown) => (isJsonObject(value) ? sortMembers(value) : value));
  return hash('sha256', canonical ?? '', 'buffer');
}

/** @throws Undone */
async function writeBatch(
  deps: Deps,
  trx: Db,
  key: BatchKey,
  { keyId, pipelines, read, warnings: known = [], audit, asked }: WrittenBatch,
): Promise<CreatedBatch & Pick<Lease, 'isShareRunningOut'>> {
  const { jobs, clock } = deps;
  const { project, kind, idempotencyKey, requestHash } = key;
  const { token, flywheel } = project;
  // Batches of one project are created one after another, so that the counts that admission reads stay true.
  const { batchIndex, ...members } = await takeBatchIndex(trx, flywheel.id);
  const id = randomUUID();
  const candidate = { project, kind, keyId, pipelines, read, members };
  const admission = await admitBatch(deps, trx, candidate, asked);
  if ('unreadOn' in admission) throw new Undone(admission);
  const warnings = [...known, ...admission.warnings];
  const now = clock.now();
  const lease = await leaseNonce(trx, { batchId: id, flywheelId: flywheel.id });
  if (!lease) throw new Undone(POOL_EMPTY);
  const { nonce, isShareRunningOut } = lease;
  const batch: Batch = {
    id,
    projectId: project.id,
    flywheelId: flywheel.id,
    tokenId: token.id,
    kind,
    status: 'AVAILABLE_TO_QUEUE',
    batchIndex,
    pipelines,
    pipelineCount: pipelines.length,
    nonce,
    signedTx: null,
    initResult: null,
    executeResult: null,
    executionError: null,
    awaitsCompany: false,
    createdAt: now,
    updatedAt: now,
    endedAt: null,
    endCause: null,
  };
  await insertBatch(trx, batch, { idempotencyKey, requestHash, keyId }, admission.reserved, warnings);
  if (audit !== null) await insertAuditEntry(trx, { ...audit, at: now, projectId: project.id, batchId: id });
  const job = { batchId: id, multisig: flywheel.multisig.address };
  await jobs.enqueueAll(trx, [
    { job: { type: 'setup', ...job } },
    { job: { type: 'expire', ...job }, startAfter: expiresAtOf(batch, deps) },
  ]);
  await admitUnadmitted(deps, trx, candidate, asked, admission);
  return { batch, warnings, replayed: false, isShareRunningOut };
}

function sortMembers(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
