import { type CompanyPolicy, chunksOf } from '@flywheel/protocol';
import { utcDay } from '../../model/clock.ts';
import { answerOthers } from '../../model/in-slices.ts';
import type { Project } from '../../model/project.ts';
import { findPastBatches, findPastPipelines, type PastBatch } from '../../store/batches/past-batches.ts';
import { useKey } from '../../store/company/policy-uses.ts';
import type { Db } from '../../store/db.ts';
import { findMetRules, findWaits, type MetRule } from './evaluate.ts';
import { allUsesOf, readFacts } from './facts.ts';

/** The rules that a past batch would have met. */
export interface PastVerdict extends Pick<PastBatch, 'batchId' | 'batchIndex' | 'createdAt'> {
  readonly met: readonly MetRule[];
}

/** Bounds the work: two seconds of one thread. */
const MAX_PIPELINES = 50_000;
const BATCHES_AT_ONCE = 50;
/** Without their pipelines. */
const BATCHES_OF_A_PAGE = 500;

/**
 * Judges the past batches of a project by rules, in the order of their creation and each day from zero. A batch that the rules
 * refuse takes nothing of a cap. Time of the judgement is the creation; new token accounts are those that were created.
 * @returns with the time from which on batches were judged: later than `oldest` if there are too many.
 */
export async function judgePast(
  db: Db,
  { id: projectId, token }: Pick<Project, 'id' | 'token'>,
  policy: CompanyPolicy,
  oldest: Date,
): Promise<{ readonly verdicts: PastVerdict[]; readonly since: Date }> {
  const { batches, isCut } = await findNewest(db, projectId, oldest);
  const verdicts: PastVerdict[] = [];
  let today = startDay('');
  for (const some of chunksOf(batches, BATCHES_AT_ONCE)) {
    const ids = some.map(({ batchId }) => batchId);
    const pipelines = Map.groupBy(await findPastPipelines(db, ids), ({ batchId }) => batchId);
    for (const { batchId, batchIndex, createdAt, createdTokenAccounts } of some) {
      const day = utcDay(createdAt);
      if (day !== today.day) today = startDay(day);
      const facts = readFacts(pipelines.get(batchId) ?? [], token);
      const tokenAccounts = { asked: createdTokenAccounts, usedToday: today.tokenAccounts };
      const met = [
        ...findMetRules(policy, token, facts, { ...today, tokenAccounts }),
        ...findWaits(policy, token, { now: createdAt, tokenAccounts: null }),
      ];
      verdicts.push({ batchId, batchIndex, createdAt, met });
      if (met.some(({ effect }) => effect === 'refused' || effect === 'capped')) continue;
      today.moved += facts.moved;
      today.tokenAccounts += createdTokenAccounts;
      for (const use of allUsesOf(facts)) {
        const key = useKey(use);
        today.uses.set(key, (today.uses.get(key) ?? 0n) + use.amount);
      }
    }
    await answerOthers();
  }
  return { verdicts, since: isCut ? (batches[0]?.createdAt ?? oldest) : oldest };
}

interface PastDay {
  readonly day: string;
  moved: bigint;
  tokenAccounts: number;
  readonly uses: Map<string, bigint>;
}

function startDay(day: string): PastDay {
  return { day, moved: 0n, tokenAccounts: 0, uses: new Map() };
}

/** Finds the newest batches since a time that fit into the bound, oldest first. */
async function findNewest(
  db: Db,
  projectId: string,
  oldest: Date,
): Promise<{ readonly batches: readonly PastBatch[]; readonly isCut: boolean }> {
  const batches: PastBatch[] = [];
  let pipelines = 0;
  for (;;) {
    const below = batches.at(-1)?.batchIndex ?? null;
    const page = await findPastBatches(db, projectId, { below, limit: BATCHES_OF_A_PAGE });
    for (const batch of page) {
      if (batch.createdAt < oldest) return { batches: batches.reverse(), isCut: false };
      pipelines += batch.pipelineCount;
      if (pipelines > MAX_PIPELINES) return { batches: batches.reverse(), isCut: true };
      batches.push(batch);
    }
    if (page.length < BATCHES_OF_A_PAGE) return { batches: batches.reverse(), isCut: false };
  }
}
