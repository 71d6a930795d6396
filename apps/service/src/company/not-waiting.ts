import { ApiError } from '@flywheel/api';
import { type BatchWithoutPipelines, isFinal } from '../model/batch.ts';
import type { CompanyDecision } from '../store/batches/batch-records.ts';

/** Why there is nothing for the company to decide. */
export function notWaiting(
  { id: batchId, status, signedTx }: BatchWithoutPipelines,
  { decidedAt, operator, reason }: CompanyDecision,
): ApiError<'ERR_BATCH_NOT_WAITING'> {
  return new ApiError('ERR_BATCH_NOT_WAITING', { batchId, reason: describe() });

  function describe(): string {
    if (decidedAt !== null) {
      return reason === null
        ? `${operator} approved it at ${decidedAt.toISOString()}.`
        : `${operator} rejected it at ${decidedAt.toISOString()}: ${reason}`;
    }
    if (isFinal(status)) return `it is ${status}.`;
    if (signedTx === null) return 'its wallet’s approval has not come in, or was given back.';
    return 'its project’s batches are approved automatically.';
  }
}
