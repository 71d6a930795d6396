import { PROJECT_OPERATIONS } from '@flywheel/api';
import type { Handlers } from '../handlers.ts';
import type { ConsoleDeps } from './console-handlers.ts';
import { notYet } from './not-yet.ts';

/** What a project is, holds and did. */
export function createProjectHandlers(_deps: ConsoleDeps): Handlers<typeof PROJECT_OPERATIONS> {
  return notYet(PROJECT_OPERATIONS);
}
