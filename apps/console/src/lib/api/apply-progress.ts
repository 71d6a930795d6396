import type { BatchDetail, BatchProgress, BundleRecord } from '@flywheel/api';

type PipelineState = BatchDetail['pipelines'][number]['state'];

/** Updates a batch with newer progress; the state of each pipeline follows from the bundles. */
export function applyProgress(batch: BatchDetail, progress: BatchProgress): BatchDetail {
  const signatures = executionSignatures(progress.bundles);
  const pipelines = batch.pipelines.map((pipeline, position) => {
    const { signature: previous, ...rest } = pipeline;
    const state = stateOf(position, progress);
    const signature = state === 'executed' ? (signatures.get(position) ?? previous) : previous;
    return { ...rest, state, ...(signature !== undefined && { signature }) };
  });
  return { ...withoutProgress(batch), ...progress, pipelines };
}

/** Removes optional fields that newer progress may lack. */
function withoutProgress({ failure: _failure, expiresAt: _expiresAt, ...rest }: BatchDetail) {
  return rest;
}

/** Derives a pipeline’s state: pipelines execute in order, so a count says which are done. */
function stateOf(position: number, { executedPipelines, failure, batch }: BatchProgress): PipelineState {
  if (position < executedPipelines) return 'executed';
  if (batch.status !== 'FAILED') return 'waiting';
  return failure?.pipeline === position ? 'failed' : 'skipped';
}

/** Maps the position of a pipeline to the signature of the transaction that executed it. */
function executionSignatures(bundles: readonly BundleRecord[]): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  for (const { phase, signatures, landedSignatures, firstPipeline, pipelineCounts } of bundles) {
    if (phase !== 'execution') continue;
    let position = firstPipeline;
    for (const [index, signature] of signatures.entries()) {
      const end = position + (pipelineCounts[index] ?? 0);
      for (; position < end; position += 1) if (landedSignatures.includes(signature)) found.set(position, signature);
    }
  }
  return found;
}
