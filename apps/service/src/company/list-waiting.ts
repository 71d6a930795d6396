import type { Deps } from '../batches/deps.ts';
import { problemOf } from '../batches/report/list-reports.ts';
import { findWaitingBatches, type WaitingBatch } from '../store/company/waiting-batches.ts';

export interface WaitingItem extends WaitingBatch {
  /** What holds it up. */
  readonly problem: string | null;
}

/** As many as one looks through; those behind come up as these are decided. */
const MAX_LISTED = 100;

/** The batches that a person has to decide for the company, oldest first. */
export async function listWaiting({ db }: Pick<Deps, 'db'>): Promise<WaitingItem[]> {
  const batches = await findWaitingBatches(db, MAX_LISTED);
  return batches.map((batch) => ({ ...batch, problem: problemOf(batch) }));
}
