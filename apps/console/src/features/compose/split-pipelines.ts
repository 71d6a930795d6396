import { MAX_PIPELINES_PER_BATCH, type Pipeline } from '@flywheel/api';

/** The service takes bodies of 2 MiB; some of it is left for what stands around the pipelines. */
const MAX_PIPELINES_BYTES = 2 * 1_024 * 1_024 - 1_024;

/** Pipelines to as few batches as may hold them, in order. */
export function splitPipelines(pipelines: readonly Pipeline[]): Pipeline[][] {
  const batches: Pipeline[][] = [];
  let bytes = 0;
  for (const pipeline of pipelines) {
    // The comma after it counts.
    const own = new TextEncoder().encode(JSON.stringify(pipeline)).length + 1;
    const last = batches.at(-1);
    if (last && last.length < MAX_PIPELINES_PER_BATCH && bytes + own <= MAX_PIPELINES_BYTES) {
      last.push(pipeline);
      bytes += own;
    } else {
      batches.push([pipeline]);
      bytes = own;
    }
  }
  return batches;
}
