import { ApiError, type BatchStatus } from '@flywheel/api';
import { type Address, address, type Base64EncodedWireTransaction } from '@solana/kit';
import { type Batch, type BatchWithoutPipelines, isFinal, type LedgerEntry } from '../model/batch.ts';
import { type Page, pageOf, parseCursor } from '../model/page.ts';
import type { Project } from '../model/project.ts';
import { readNonces } from '../solana/nonces.ts';
import { approveTransaction } from '../squads/approval.ts';
import {
  findBatch,
  findBatches,
  findBatchWithoutPipelines,
  findCurrentBatch,
  updateNonceValue,
} from '../store/batches/batches.ts';
import { isClosed } from '../store/batches/ends.ts';
import { findLedgerEntries } from '../store/landing/ledger.ts';
import type { Deps } from './deps.ts';

/** @throws ApiError ERR_BATCH_NOT_FOUND, also for another project’s batch. */
export async function readBatch({ db, visibleKind }: Deps, project: Project, batchId: string): Promise<Batch> {
  const batch = await findBatch(db, batchId, project.id, visibleKind);
  if (!batch) throw new ApiError('ERR_BATCH_NOT_FOUND', { batchId });
  return batch;
}

/** As `readBatch`, for those who need no pipelines: a batch whose pipelines are damaged can say so. */
export async function readBatchWithoutPipelines(
  { db, visibleKind }: Deps,
  project: Project,
  batchId: string,
): Promise<BatchWithoutPipelines> {
  const batch = await findBatchWithoutPipelines(db, batchId, project.id, visibleKind);
  if (!batch) throw new ApiError('ERR_BATCH_NOT_FOUND', { batchId });
  return batch;
}

/** A client that polls once a second or so still sees how its batch ended. */
const STAYS_CURRENT_MS = 30_000;

/** The newest batch of pipelines that is not final; only if there is none, the newest that ended within 30 s; else null. */
export async function readCurrentBatch({ db, clock }: Deps, project: Project): Promise<BatchWithoutPipelines | null> {
  return findCurrentBatch(db, project.id, new Date(clock.now().getTime() - STAYS_CURRENT_MS));
}

/** The approval as init answers it: no chain round trip, on the nonce as leased. */
export function buildApproval(project: Project, batch: BatchWithoutPipelines): Promise<Base64EncodedWireTransaction> {
  return approveTransaction(project.flywheel.multisig, batch.batchIndex, batch.nonce);
}

/** The approval on the nonce as the chain has it now; null once the batch has ended. */
export async function readApproval(
  { db, chain }: Deps,
  project: Project,
  batch: BatchWithoutPipelines,
): Promise<Base64EncodedWireTransaction | null> {
  if (isFinal(batch.status)) return null;
  const nonceAddress: Address = address(batch.nonce.address);
  const { operator } = project.flywheel.multisig;
  const value = (await readNonces(chain, operator, [nonceAddress], 'confirmed')).get(nonceAddress);
  if (value === undefined || value === batch.nonce.value) return buildApproval(project, batch);
  // An approval that failed on chain has moved the nonce: what was signed before is void, this one is to be signed.
  await updateNonceValue(db, batch.id, value);
  return buildApproval(project, { ...batch, nonce: { address: nonceAddress, value } });
}

/**
 * A page of a project's batches, newest first.
 * @throws ApiError ERR_INVALID_REQUEST for a cursor that is none of ours.
 */
export async function listBatches(
  { db, visibleKind: kind }: Deps,
  project: Project,
  {
    status,
    cursor,
    limit,
  }: { readonly status: BatchStatus | undefined; readonly cursor: string | undefined; readonly limit: number },
): Promise<Page<BatchWithoutPipelines>> {
  const found = await findBatches(db, project.id, { status, kind, below: parseCursor('b', cursor), limit: limit + 1 });
  return pageOf('b', found, { limit, numberOf: ({ batchIndex }) => batchIndex });
}

/** What a batch has cost, in the order in which it was spent. */
export interface Ledger {
  readonly entries: readonly LedgerEntry[];
  /** Every account is closed: nothing more will come. */
  readonly isComplete: boolean;
}

export async function readLedger({ db }: Pick<Deps, 'db'>, { id }: Pick<Batch, 'id'>): Promise<Ledger> {
  // In this order: the entries are there before a batch is closed, and what is said to be complete must be.
  const isComplete = await isClosed(db, id);
  return { entries: await findLedgerEntries(db, id), isComplete };
}
