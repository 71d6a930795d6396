import type { BatchProgress } from '@flywheel/sdk';
import { count } from '../../format.ts';
import type { Progress } from '../../progress.ts';

/** The steps that every display of a running batch has. */
export type BatchStep = 'compile' | 'setUp' | 'approve' | 'execute';

/** Returns a listener for `runBatch` that shows its events as steps. */
export function showBatchProgress(progress: Progress<BatchStep>): (event: BatchProgress) => void {
  let isResumed = true;
  return (event) => {
    switch (event.stage) {
      case 'compiled':
        progress.finish('compile', count(event.init.batch.pipelines.length, 'pipeline'));
        return progress.begin('setUp');
      case 'setUp':
        isResumed = false;
        progress.finish('setUp', count(event.batch.initResult?.totalSuccessful ?? 0, 'transaction'));
        return progress.begin('approve');
      case 'verified':
        return progress.begin('approve', event.verification.isVerified ? 'verified on chain' : '');
      case 'approved':
        progress.finish('approve');
        return progress.begin('execute');
      case 'blocked':
        return progress.begin('execute', event.executionError.message);
      case 'ended': {
        const { status, executeResult } = event.batch;
        // A batch that had ended before this run goes from compile straight to its end.
        if (isResumed && executeResult) {
          progress.skip('setUp', 'by an earlier run');
          progress.skip('approve', 'by an earlier run');
        }
        if (status !== 'EXECUTED') return;
        const pipelines = count(executeResult?.totalSuccessful ?? 0, 'pipeline');
        return isResumed
          ? progress.skip('execute', `${pipelines}, by an earlier run`)
          : progress.finish('execute', pipelines);
      }
      default:
        return event satisfies never;
    }
  };
}
