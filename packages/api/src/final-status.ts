import type { BatchStatus } from './schemas.ts';

/**
 * True for the status of a batch that has ended. A fork can still turn `EXECUTED` into `FAILED`, until the end is finalized.
 * It is not in `schemas.ts`, so that a page that only asks this loads no schemas.
 */
export function isFinalStatus(status: BatchStatus): boolean {
  return status === 'EXECUTED' || status === 'FAILED';
}
