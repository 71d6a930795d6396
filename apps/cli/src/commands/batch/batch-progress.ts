import type { BatchProgress } from '@flywheel/sdk';
import type { Progress } from '../../progress.ts';
import { count } from '../../words.ts';

/** The steps that a batch’s own stages are shown as. */
export type BatchStep = 'compile' | 'setUp' | 'approve' | 'execute';

/** Turns the stages of a running batch into steps of a progress display. */
export function showBatchProgress(progress: Progress<BatchStep>): (event: BatchProgress) => void {
  return (event) => {
    switch (event.stage) {
      case 'compiled':
        progress.finish('compile', count(event.init.batch.pipelines.length, 'pipeline'));
        return progress.begin('setUp');
      case 'setUp':
        progress.finish('setUp', count(event.batch.initResult?.totalSuccessful ?? 0, 'transaction'));
        return progress.begin('approve');
      case 'looked':
        return progress.begin('approve', event.look.isSafe ? 'the chain holds what was asked for' : '');
      case 'approved':
        progress.finish('approve');
        return progress.begin('execute');
      case 'hindered':
        return progress.begin('execute', event.executionError.message);
      case 'ended':
        if (event.batch.status !== 'EXECUTED') return;
        return progress.finish('execute', count(event.batch.executeResult?.totalSuccessful ?? 0, 'pipeline'));
      default:
        return event satisfies never;
    }
  };
}
