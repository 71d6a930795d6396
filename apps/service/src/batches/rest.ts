import type { InitBatchRequest, Pipeline } from '@flywheel/api';
import { type BatchWithoutPipelines, type CompiledPipeline, publicActions } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import type { Deps } from './deps.ts';
import { readBatch } from './read.ts';
import { separate } from './recipients.ts';

/** Bodies for init with what a batch did not execute. */
export interface Rest {
  /** Absent when there are none. */
  readonly rest?: InitBatchRequest;
  /** Those that pay a recipient who stopped a batch; absent when there are none. */
  readonly heldBack?: InitBatchRequest;
}

/** Reads what a failed batch of pipelines did not execute; empty for every other batch. */
export async function readRest(
  deps: Pick<Deps, 'db' | 'clock'>,
  project: Project,
  batch: BatchWithoutPipelines,
): Promise<Rest> {
  if (!mayHaveRest(batch)) return {};
  const { pipelines } = await readBatch(deps, project, batch.id);
  const left = pipelines.slice(batch.executeResult?.totalSuccessful ?? 0).map(toPipeline);
  const { rest, heldBack } = await separate(deps, project, left);
  return {
    ...(rest.length > 0 && { rest: { pipelines: rest } }),
    ...(heldBack.length > 0 && { heldBack: { pipelines: heldBack } }),
  };
}

/** Returns true for a batch whose pipelines `readRest` reads. */
export function mayHaveRest({ kind, status }: BatchWithoutPipelines): boolean {
  return kind === 'pipelines' && status === 'FAILED';
}

function toPipeline({ type, payload, actions }: CompiledPipeline): Pipeline {
  return {
    type,
    payload,
    actions: publicActions(actions),
  };
}
