import { ApiError } from '@flywheel/api';
import type { Project } from '../../model/project.ts';
import { type BatchRecord, findBatchRecord } from '../../store/batches/batch-records.ts';
import { findSentBundles, type SentBundle } from '../../store/batches/bundles.ts';
import type { Deps } from '../deps.ts';
import { type Ledger, readLedger } from '../read.ts';

/** A batch with everything that changes during its life, for the console. */
export interface BatchDetails {
  readonly record: BatchRecord;
  /** In the order in which they were sent. */
  readonly bundles: readonly SentBundle[];
  readonly ledger: Ledger;
  /** Number of executed pipelines: the cursor on chain for an ended batch, else the pipelines known to have landed. */
  readonly executed: number;
}

/**
 * Reads the details of a project's batch.
 * @throws ApiError ERR_BATCH_NOT_FOUND, also for another project’s batch.
 */
export async function readBatchDetails(
  deps: Pick<Deps, 'db' | 'clock' | 'companyOperators'>,
  project: Project,
  batchId: string,
): Promise<BatchDetails> {
  const count = { operators: deps.companyOperators, now: deps.clock.now() };
  const record = await findBatchRecord(deps.db, batchId, project.id, count);
  if (!record) throw new ApiError('ERR_BATCH_NOT_FOUND', { batchId });
  // Read after the batch, so that they include everything that its row reports.
  const [bundles, ledger] = await Promise.all([findSentBundles(deps.db, batchId), readLedger(deps, record)]);
  return {
    record,
    bundles,
    ledger,
    executed: record.executeResult?.totalSuccessful ?? signaturesByPipeline(bundles).size,
  };
}

/** Maps the position of each executed pipeline to the signature of its transaction. */
export function signaturesByPipeline(bundles: readonly SentBundle[]): ReadonlyMap<number, string> {
  const signatures = new Map<number, string>();
  for (const { phase, signatures: sent, landedSignatures, firstPipeline, pipelineCounts } of bundles) {
    if (phase !== 'execution') continue;
    const landed = new Set(landedSignatures);
    let position = firstPipeline;
    for (const [i, signature] of sent.entries()) {
      const end = position + (pipelineCounts[i] ?? 0);
      for (; position < end; position += 1) if (landed.has(signature)) signatures.set(position, signature);
    }
  }
  return signatures;
}
