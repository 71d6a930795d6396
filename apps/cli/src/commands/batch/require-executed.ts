import type { Batch } from '@flywheel/api';
import { CliError } from '../../errors.ts';

/** @throws CliError `ERR_BATCH_FAILED` with the reason that the batch failed for. */
export function requireExecuted({ id, status, executeResult, initResult, executionError }: Batch): void {
  if (status !== 'FAILED') return;
  const why = executeResult?.failedTxMsg ?? initResult?.failedTxMsg ?? executionError?.message;
  throw new CliError('ERR_BATCH_FAILED', `Batch ${id} failed${why ? `: ${why}` : '.'}`);
}
