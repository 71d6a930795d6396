import { BATCH_OPERATIONS, type Pipeline, type PreviewBatchResponse } from '@flywheel/api';
import { call } from '../../../lib/service/call.ts';

export interface PreviewInput {
  readonly projectId: string;
  readonly batches: readonly (readonly Pipeline[])[];
  readonly onProgress?: (checked: number) => void;
}

/** Every pipeline is compiled and simulated. */
const PREVIEW_TIMEOUT_MS = 120_000;

/** What the service says of each batch, one after the other: nothing is stored. @throws FlywheelError */
export async function previewBatches({
  projectId,
  batches,
  onProgress,
}: PreviewInput): Promise<PreviewBatchResponse[]> {
  const previews: PreviewBatchResponse[] = [];
  for (const pipelines of batches) {
    const body = { pipelines: [...pipelines] };
    previews.push(
      await call(
        BATCH_OPERATIONS.previewProjectBatch,
        { params: { projectId }, body },
        { timeoutMs: PREVIEW_TIMEOUT_MS },
      ),
    );
    onProgress?.(previews.length);
  }
  return previews;
}
