import type { BatchDetail, BatchProgress, BundleRecord } from '@flywheel/api';

type PipelineState = BatchDetail['pipelines'][number]['state'];

/** A batch as it was read, brought up to what has moved since: each pipeline’s state follows from the bundles. */
export function applyProgress(before: BatchDetail, progress: BatchProgress): BatchDetail {
  const signatures = executionSignatures(progress.bundles);
  const pipelines = before.pipelines.map((pipeline, position) => {
    const { signature: known, ...rest } = pipeline;
    const state = stateOf(position, progress);
    const signature = state === 'executed' ? (signatures.get(position) ?? known) : known;
    return { ...rest, state, ...(signature !== undefined && { signature }) };
  });
  return { ...withoutProgress(before), ...progress, pipelines };
}

/** A field that is absent now must not stay from before. */
function withoutProgress({ failure: _failure, expiresAt: _expiresAt, ...rest }: BatchDetail) {
  return rest;
}

/** Pipelines are executed in order: the chain’s cursor says how many were. */
function stateOf(position: number, { executedPipelines, failure, batch }: BatchProgress): PipelineState {
  if (position < executedPipelines) return 'executed';
  if (batch.status !== 'FAILED') return 'waiting';
  return failure?.pipeline === position ? 'failed' : 'skipped';
}

/** The transaction that executed each pipeline, by position. */
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
