import { BATCH_OPERATIONS } from '@flywheel/api';
import type { Handlers } from '../handlers.ts';
import type { ConsoleDeps } from './console-handlers.ts';
import { notYet } from './not-yet.ts';

/** A project’s batches, by the wallet that is signed in. */
export function createProjectBatchHandlers(_deps: ConsoleDeps): Handlers<typeof BATCH_OPERATIONS> {
  return notYet(BATCH_OPERATIONS);
}
