import { ApiError, type BatchKind, isFinalStatus } from '@flywheel/api';
import { chunksOf } from '@flywheel/protocol';
import { decodeProposal, proposalAddress } from '@flywheel/squads';
import {
  type Address,
  appendTransactionMessageInstructions,
  type Base64EncodedWireTransaction,
  createTransactionMessage,
  setTransactionMessageFeePayer,
} from '@solana/kit';
import type { BatchWithoutPipelines } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import type { Chain } from '../solana/chain.ts';
import { compileUnsigned } from '../solana/transactions.ts';
import { locateBatch, proposalCancel } from '../squads/instructions.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { findBatch } from '../store/batches/batches.ts';
import { findLandedSlot } from '../store/batches/bundles.ts';
import { findUnapprovedIds, lockUnbegun } from '../store/batches/ends.ts';
import { lockFlywheel } from '../store/batches/new-batches.ts';
import type { Deps } from './deps.ts';
import type { EventDeps } from './events.ts';
import { END_REASONS, recordEnd } from './jobs/end.ts';
import { readStatuses } from './jobs/progress.ts';
import { awaitBatch, type RequestedBatch, readBatchWithoutPipelines, type Wait } from './read.ts';

export interface CancelRequest {
  readonly batchId: string;
  /** Hides batches of other kinds; absent: a batch of any kind is cancelled. */
  readonly kind?: BatchKind;
  /** The signed-in wallet, for the audit log; absent for API keys. */
  readonly actor?: Address;
}

export interface Cancellation extends RequestedBatch {
  /**
   * Transaction that the wallet signs, pays for and sends. Squads needs the wallet's cancel vote on an approved proposal
   * before the rent of its accounts can be returned. Null when no vote is needed.
   */
  readonly cancelTx: Base64EncodedWireTransaction | null;
}

/**
 * Cancels an open batch. A batch whose execution has not begun ends at once and releases its limits. A batch that is
 * being executed, or whose approval is on chain, ends after the bundle in flight, with the result that the chain shows
 * then. Repeating is safe.
 * @throws ApiError ERR_BATCH_NOT_FOUND; ERR_BATCH_NOT_CANCELLABLE when it was executed.
 */
export async function cancelBatch(
  deps: Deps & EventDeps,
  project: Project,
  { batchId, kind, actor }: CancelRequest,
  wait: Wait,
): Promise<Cancellation> {
  const batch = await readBatchWithoutPipelines(deps, project, batchId, kind);
  if (!isFinalStatus(batch.status)) {
    const unapproved = await findUnapprovedOnChain(deps, project, [batch]);
    await endOrEnqueue(deps, project, batch, { isUnapproved: unapproved.has(batch.id), actor });
  }
  const ended = await awaitBatch(deps, batchId, ({ status }) => isFinalStatus(status), wait);
  if (ended.status === 'EXECUTED') throw new ApiError('ERR_BATCH_NOT_CANCELLABLE', { batchId });
  const requested = { batch: ended, hadEnded: isFinalStatus(batch.status) };
  if (ended.status !== 'FAILED') return { ...requested, cancelTx: null };
  // The wallet may have cast its cancel vote since the last request.
  await deps.jobs.enqueue(deps.db, { type: 'close', batchId, multisig: project.flywheel.multisig.address });
  return { ...requested, cancelTx: await buildCancel(deps, project, ended) };
}

/**
 * Cancels the open batches of a revoked key that the wallet has not approved. Those that the chain shows with an approval
 * end after the bundle in flight, and all of them later if no node answers. They do not count against the project's limits
 * meanwhile.
 * @returns how many it has cancelled.
 */
export async function cancelBatchesOfKey(
  deps: Deps,
  project: Project,
  { keyId, actor }: { readonly keyId: string; readonly actor: Address },
): Promise<number> {
  // A request of the key that was answered meanwhile holds the lock until its batch is stored.
  const ids = await deps.db.transaction().execute(async (trx) => {
    await lockFlywheel(trx, project.flywheel.id);
    return findUnapprovedIds(trx, keyId);
  });
  const batches: BatchWithoutPipelines[] = [];
  for (const some of chunksOf(ids, CANCELLED_AT_ONCE)) {
    batches.push(...(await Promise.all(some.map((id) => readBatchWithoutPipelines(deps, project, id)))));
  }
  const unapproved = await findUnapprovedOnChain(deps, project, batches);
  for (const some of chunksOf(batches, CANCELLED_AT_ONCE)) {
    await Promise.all(
      some.map((batch) => endOrEnqueue(deps, project, batch, { isUnapproved: unapproved.has(batch.id), actor })),
    );
  }
  return ids.length;
}

/** Each takes a connection of the database. */
const CANCELLED_AT_ONCE = 4;

async function endOrEnqueue(
  deps: Deps,
  project: Project,
  batch: BatchWithoutPipelines,
  { isUnapproved, actor }: { readonly isUnapproved: boolean; readonly actor: Address | undefined },
): Promise<void> {
  const { db, clock, jobs } = deps;
  await db.transaction().execute(async (trx) => {
    const isUnbegun = await lockUnbegun(trx, batch.id);
    // Read again under the lock: the batch may have been set up, have ended, or have left with its project.
    const locked = await findBatch(trx, batch.id);
    if (!locked || isFinalStatus(locked.status)) return;
    if (actor !== undefined) {
      const entry = { actor, action: 'batch.cancelled', projectId: project.id, batchId: batch.id } as const;
      await insertAuditEntry(trx, { at: clock.now(), ...entry });
    }
    if (isUnbegun && isUnapproved) {
      const failure = { failedTxMsg: END_REASONS.cancelled };
      const ending = { transition: 'ENDED_UNEXECUTED', executed: 0, failure, cause: 'cancelled' } as const;
      await recordEnd(deps, trx, project, locked, ending);
      return;
    }
    await jobs.enqueue(trx, { type: 'cancel', batchId: batch.id, multisig: project.flywheel.multisig.address });
  });
}

/** A healthy node answers within two seconds. */
const MAX_READ_MS = 3_000;

/**
 * Finds the batches that have no approval on chain, in one read; none if no node answers in time. After a restore from a
 * backup, the database may show an executed batch as not begun. For a batch that is not found here, a job reads the chain again.
 */
export async function findUnapprovedOnChain(
  { chain, db, clock, log }: Pick<Deps, 'chain' | 'db' | 'clock' | 'log'>,
  { flywheel: { id, multisig } }: Project,
  batches: readonly BatchWithoutPipelines[],
): Promise<ReadonlySet<string>> {
  if (batches.length === 0) return new Set();
  const landedSlot = await findLandedSlot(db, id);
  const isRead = new AbortController();
  const late = clock.sleep(MAX_READ_MS, isRead.signal).then(() => {
    throw new Error(`No node has answered within ${MAX_READ_MS} ms.`);
  });
  const statuses = chain.decide(landedSlot, (view) => readStatuses(view, multisig.address, batches));
  try {
    const read = await Promise.race([statuses, late]);
    return new Set(batches.filter((_, i) => UNAPPROVED.has(read[i] ?? 'Closed')).map((batch) => batch.id));
  } catch (err) {
    log.warn({ batches: batches.length, err }, 'the chain cannot be read: jobs end the batches');
    return new Set();
  } finally {
    isRead.abort();
  }
}

const UNAPPROVED: ReadonlySet<string> = new Set(['Absent', 'Draft', 'Active']);

/** Builds the wallet's cancel vote; null when the proposal was never approved, is closed, or has that vote already. */
async function buildCancel(
  deps: Deps,
  project: Project,
  batch: BatchWithoutPipelines,
): Promise<Base64EncodedWireTransaction | null> {
  const landedSlot = await findLandedSlot(deps.db, batch.flywheelId);
  return deps.chain.decide(landedSlot, (chain) => buildCancelOn(chain, project, batch));
}

async function buildCancelOn(
  chain: Chain,
  { flywheel: { multisig } }: Project,
  { batchIndex }: BatchWithoutPipelines,
): Promise<Base64EncodedWireTransaction | null> {
  const [account] = await chain.accounts([proposalAddress(multisig.address, batchIndex)]);
  if (!account) return null;
  const { status, cancelled } = decodeProposal(account);
  if (status.__kind !== 'Approved' || cancelled.includes(multisig.wallet)) return null;
  const vote = proposalCancel(locateBatch(multisig, batchIndex), multisig.wallet);
  const message = setTransactionMessageFeePayer(multisig.wallet, createTransactionMessage({ version: 0 }));
  return compileUnsigned(appendTransactionMessageInstructions([vote], message), await chain.latestBlockhash());
}
