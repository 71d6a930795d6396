import { ApiError } from '@flywheel/api';
import type { ExecutionTrouble } from './batch.ts';

/** Trouble as the error that an answer carries. */
export function troubleError(trouble: ExecutionTrouble): ApiError {
  switch (trouble.code) {
    case 'ERR_SIGNED_TX_INVALID':
      return new ApiError(trouble.code, trouble.context);
    case 'ERR_VAULT_UNDERFUNDED':
      return new ApiError(trouble.code, trouble.context);
    case 'ERR_BATCH_WOULD_FAIL':
      return new ApiError(trouble.code, trouble.context);
    case 'ERR_BATCH_EXECUTE_FAILED':
      return new ApiError(trouble.code);
    default:
      throw trouble satisfies never;
  }
}
