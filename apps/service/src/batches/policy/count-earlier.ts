import type { CompanyPolicy } from '@flywheel/protocol';
import { answerOthers } from '../../model/in-slices.ts';
import type { Project } from '../../model/project.ts';
import { findPastPipelines, lockBatchesOfDays } from '../../store/batches/past-batches.ts';
import { countEarlierUses } from '../../store/company/policy-uses.ts';
import { type Db, inTransaction } from '../../store/db.ts';
import { readFacts, usesOf } from './facts.ts';

/** Each group of batches is locked while it is counted. */
const BATCHES_AT_ONCE = 50;

interface Since {
  /** The first UTC day whose batches are counted. */
  readonly day: string;
  /** Counts only batches with a higher batch index. */
  readonly after: bigint;
}

/**
 * Counts the batches of a day for the recipients and types that a new version of the rules limits, as init would have counted
 * them, so that a cap counts the whole day. 10,000 pipelines take about half a second.
 * @returns the highest batch index that was counted.
 */
export async function countEarlierBatches(
  db: Db,
  { id: projectId, token }: Pick<Project, 'id' | 'token'>,
  policy: CompanyPolicy,
  { day: firstDay, after }: Since,
): Promise<bigint> {
  if (policy.capPerRecipient === null && policy.capsPerType.length === 0) return after;
  for (let last = after; ; ) {
    const batches = await inTransaction(db, async (trx) => {
      const locked = await lockBatchesOfDays(trx, projectId, { firstDay, after: last, limit: BATCHES_AT_ONCE });
      // Nothing is kept of a batch that executed nothing: many cancelled ones must not delay the decisions of others.
      const ids = locked.filter(({ executed }) => executed !== 0).map(({ batchId }) => batchId);
      const pipelines = Map.groupBy(await findPastPipelines(trx, ids), ({ batchId }) => batchId);
      const counted = locked.map(({ batchId, day, executed }) => {
        // The part that a batch did not execute was given back when it ended.
        const kept = (pipelines.get(batchId) ?? []).slice(0, executed ?? undefined);
        return { batchId, day, uses: usesOf([policy], readFacts(kept, token)) };
      });
      await countEarlierUses(trx, projectId, counted);
      return locked;
    });
    const newest = batches.at(-1);
    if (!newest) return last;
    last = newest.batchIndex;
    await answerOthers();
  }
}
