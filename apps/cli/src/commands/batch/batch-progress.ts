import { messageOf, pluralize } from '@flywheel/protocol';
import type { BatchProgress } from '@flywheel/sdk';
import type { Progress } from '../../progress.ts';

/** The steps that every display of a running batch has. */
export type BatchStep = 'compile' | 'setUp' | 'approve' | 'execute';

/** Returns a listener for `runBatch` that shows its events as steps. */
export function showBatchProgress(progress: Progress<BatchStep>): (event: BatchProgress) => void {
  return (event) => {
    switch (event.stage) {
      case 'begun':
        return progress.begin('compile');
      case 'compiled':
        progress.finish('compile', pluralize(event.init.batch.pipelines.length, 'pipeline'));
        return progress.begin('setUp');
      case 'setUp':
        progress.finish('setUp', pluralize(event.batch.initResult?.totalSuccessful ?? 0, 'transaction'));
        return progress.begin('approve');
      case 'verified':
        return progress.begin('approve', event.verification.isVerified ? 'verified on chain' : '');
      case 'approved':
        if (event.signedTx === null) progress.skip('approve', 'by an earlier run');
        else progress.finish('approve');
        return progress.begin('execute');
      case 'blocked':
        return progress.hold(
          event.batch.status === 'AVAILABLE_TO_QUEUE' ? 'setUp' : 'execute',
          event.executionError.message,
        );
      case 'awaitsCompany':
        return progress.begin('execute', 'a person of the company decides now');
      case 'cancelVote':
        return event.signature === null
          ? progress.begin('execute', `the wallet’s cancel vote was not cast: ${describeCause(event.error)}`)
          : progress.begin('execute', `the wallet’s cancel vote is cast: ${event.signature}`);
      case 'ended': {
        const { hadEnded, batch } = event;
        const pipelines = pluralize(batch.executeResult?.totalSuccessful ?? 0, 'pipeline');
        if (hadEnded && batch.status === 'EXECUTED') {
          // It went from compile straight to its end.
          progress.skip('setUp', 'by an earlier run');
          progress.skip('approve', 'by an earlier run');
          return progress.skip('execute', `${pipelines}, by an earlier run`);
        }
        return batch.status === 'EXECUTED' ? progress.finish('execute', pipelines) : undefined;
      }
      default:
        return event satisfies never;
    }
  };
}

function describeCause(error: unknown): string {
  return messageOf(error);
}
