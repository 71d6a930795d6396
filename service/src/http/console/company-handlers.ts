import { COMPANY_OPERATIONS } from '@flywheel/api';
import type { Handlers } from '../handlers.ts';
import type { ConsoleDeps } from './console-handlers.ts';
import { notYet } from './not-yet.ts';

/** What the company’s operators see and decide. */
export function createCompanyHandlers(_deps: ConsoleDeps): Handlers<typeof COMPANY_OPERATIONS> {
  return notYet(COMPANY_OPERATIONS);
}
