import { PROOF_OPERATIONS } from '@flywheel/api';
import type { Handlers } from '../handlers.ts';
import type { ConsoleDeps } from './console-handlers.ts';
import { notYet } from './not-yet.ts';

/** What anyone may ask. */
export function createProofHandlers(_deps: ConsoleDeps): Handlers<typeof PROOF_OPERATIONS> {
  return notYet(PROOF_OPERATIONS);
}
