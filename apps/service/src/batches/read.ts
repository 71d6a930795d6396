import { ApiError, type BatchKind, type BatchStatus, isFinalStatus } from '@flywheel/api';
import type { Base64EncodedWireTransaction } from '@solana/kit';
import type { Batch, BatchWithoutPipelines, LedgerEntry } from '../model/batch.ts';
import { type Page, pageOf, parseCursor } from '../model/page.ts';
import { type Project, projectMoving } from '../model/project.ts';
import { readNonces } from '../solana/nonces.ts';
import { approveTransaction } from '../squads/approval.ts';
import { findBatch, findBatches, findBatchWithoutPipelines, findCurrentBatch } from '../store/batches/batches.ts';
import { isClosed } from '../store/batches/ends.ts';
import { findLedgerEntries } from '../store/batches/ledger.ts';
import { DamagedRecord } from '../store/damaged-record.ts';
import { findNonceSlot, updateNonceValue } from '../store/nonces.ts';
import type { Deps } from './deps.ts';
import { type EventDeps, watchBatch } from './events.ts';

/**
 * Reads a batch of a project. With a `kind`, batches of other kinds are not found.
 * @throws ApiError ERR_BATCH_NOT_FOUND, also for another project’s batch.
 */
export async function readBatch(
  { db }: Pick<Deps, 'db'>,
  project: Project,
  batchId: string,
  kind?: BatchKind,
): Promise<Batch> {
  const batch = await findBatch(db, batchId, project.id, kind);
  if (!batch) throw new ApiError('ERR_BATCH_NOT_FOUND', { batchId });
  return batch;
}

/** Handles the error of a batch that cannot be used: it is not the service that failed. @throws ApiError ERR_BATCH_WOULD_FAIL */
export function throwDamaged(error: unknown): never {
  if (error instanceof DamagedRecord) throw new ApiError('ERR_BATCH_WOULD_FAIL', { problems: [error.message] });
  throw error;
}

/** Works like `readBatch`, but also for a batch whose stored pipelines are damaged. */
export async function readBatchWithoutPipelines(
  { db }: Pick<Deps, 'db'>,
  project: Project,
  batchId: string,
  kind?: BatchKind,
): Promise<BatchWithoutPipelines> {
  const batch = await findBatchWithoutPipelines(db, batchId, project.id, kind);
  if (!batch) throw new ApiError('ERR_BATCH_NOT_FOUND', { batchId });
  return batch;
}

/** A client that polls about once a second still sees how its batch ended. */
const STAYS_CURRENT_MS = 30_000;

/** Reads the newest open batch of pipelines; if none is open, the newest that ended within 30 s; else null. */
export async function readCurrentBatch({ db, clock }: Deps, project: Project): Promise<BatchWithoutPipelines | null> {
  return findCurrentBatch(db, project.id, new Date(clock.now().getTime() - STAYS_CURRENT_MS));
}

/** The batch of a request that may have waited for its end, as it is after the wait. */
export interface RequestedBatch {
  readonly batch: BatchWithoutPipelines;
  /** True if the batch had ended before the request, which then only reads. */
  readonly hadEnded: boolean;
}

export interface Wait {
  readonly waitMs: number;
  /** Ends the wait early. The batch's jobs continue. */
  readonly signal: AbortSignal;
}

/** Bounds the delay of an answer when no event comes: the feed has lost its connection, or the project has moved. */
const POLL_INTERVAL_MS = 1_000;

/**
 * Waits until `isAwaited` accepts the batch, and returns the batch as it is then or when the wait is over.
 * @throws ApiError ERR_PROJECT_MOVING if its project has left this shard.
 */
export async function awaitBatch(
  deps: EventDeps,
  batchId: string,
  isAwaited: (batch: BatchWithoutPipelines) => boolean,
  { waitMs, signal }: Wait,
): Promise<BatchWithoutPipelines> {
  const { db, clock } = deps;
  const deadline = clock.now().getTime() + waitMs;
  using watch = watchBatch(deps, batchId);
  for (;;) {
    watch.begin();
    const batch = await findBatchWithoutPipelines(db, batchId);
    // Nothing else takes a batch away.
    if (!batch) throw projectMoving();
    const leftMs = deadline - clock.now().getTime();
    if (isAwaited(batch) || signal.aborted || leftMs <= 0) return batch;
    await watch.next(Math.min(leftMs, POLL_INTERVAL_MS), signal);
  }
}

/** Builds the approval transaction on the nonce as it was leased, without a network call. */
export function buildApproval(project: Project, batch: BatchWithoutPipelines): Base64EncodedWireTransaction {
  return approveTransaction(project.flywheel.multisig, batch.batchIndex, batch.nonce);
}

/** Builds the approval transaction on the nonce's current value on chain; null once the batch has ended. */
export async function readApproval(
  { db, chain }: Deps,
  project: Project,
  batch: BatchWithoutPipelines,
): Promise<Base64EncodedWireTransaction | null> {
  if (isFinalStatus(batch.status)) return null;
  const { address } = batch.nonce;
  const { operator } = project.flywheel.multisig;
  const from = await findNonceSlot(db, batch.id);
  const moved = await chain.decide(from, async (view) => {
    const value = (await readNonces(view, operator, [address], 'confirmed')).get(address);
    return value === undefined || value === batch.nonce.value ? null : { value, to: await view.slot() };
  });
  if (moved === null) return buildApproval(project, batch);
  // An approval that failed on chain has advanced the nonce. Earlier signatures are void; the wallet signs this one.
  await updateNonceValue(db, batch.id, moved.value, { from, to: moved.to });
  return buildApproval(project, { ...batch, nonce: { address, value: moved.value } });
}

/**
 * Reads a page of a project's batches, newest first. With a `kind`, batches of other kinds are left out.
 * @throws ApiError ERR_INVALID_REQUEST for a cursor that this operation did not return.
 */
export async function listBatches(
  { db }: Deps,
  project: Project,
  {
    status,
    kind,
    cursor,
    limit,
  }: {
    readonly status: BatchStatus | undefined;
    readonly kind?: BatchKind;
    readonly cursor: string | undefined;
    readonly limit: number;
  },
): Promise<Page<BatchWithoutPipelines>> {
  const found = await findBatches(db, project.id, { status, kind, below: parseCursor('b', cursor), limit: limit + 1 });
  return pageOf('b', found, { limit, numberOf: ({ batchIndex }) => batchIndex });
}

/** Costs of a batch, in the order in which they were paid. */
export interface Ledger {
  readonly entries: readonly LedgerEntry[];
  /** True when every account of the batch is closed, so that no entry follows. */
  readonly isComplete: boolean;
}

export async function readLedger({ db }: Pick<Deps, 'db'>, { id }: Pick<Batch, 'id'>): Promise<Ledger> {
  // `isClosed` first: all entries exist before a batch is closed, so a complete ledger never misses one.
  const isComplete = await isClosed(db, id);
  return { entries: await findLedgerEntries(db, id), isComplete };
}
