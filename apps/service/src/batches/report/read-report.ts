import { ApiError } from '@flywheel/api';
import type { Project } from '../../model/project.ts';
import { type BatchRecord, findBatchRecord } from '../../store/batches/batch-records.ts';
import { findSentBundles, type SentBundle } from '../../store/landing/bundles.ts';
import type { Deps } from '../deps.ts';
import { type Ledger, readLedger } from '../read.ts';

/** Everything of a batch that moves. */
export interface BatchReport {
  readonly record: BatchRecord;
  /** In the order in which they were sent. */
  readonly bundles: readonly SentBundle[];
  readonly ledger: Ledger;
  /** Pipelines executed: of a batch that has ended by the chain’s cursor, else by what is known to have landed. */
  readonly executed: number;
}

/** @throws ApiError ERR_BATCH_NOT_FOUND, also for another project’s batch. */
export async function readReport(deps: Pick<Deps, 'db'>, project: Project, batchId: string): Promise<BatchReport> {
  const record = await findBatchRecord(deps.db, batchId, project.id);
  if (!record) throw new ApiError('ERR_BATCH_NOT_FOUND', { batchId });
  // After the batch: what its row says has happened is in these then.
  const [bundles, ledger] = await Promise.all([findSentBundles(deps.db, batchId), readLedger(deps, record)]);
  return {
    record,
    bundles,
    ledger,
    executed: record.executeResult?.totalSuccessful ?? signaturesByPipeline(bundles).size,
  };
}

/** The signature of the transaction that executed each pipeline, by its position. */
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
