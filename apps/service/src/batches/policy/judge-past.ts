import type { CompanyPolicy } from '@flywheel/protocol';
import { utcDay } from '../../model/clock.ts';
import { answerOthers } from '../../model/in-slices.ts';
import type { Project } from '../../model/project.ts';
import { findPastBatches, findPastPipelines, type PastBatch } from '../../store/batches/past-batches.ts';
import { useKey } from '../../store/company/policy-uses.ts';
import type { Db } from '../../store/db.ts';
import { findMetRules, findWaits, type MetRule } from './evaluate.ts';
import { allUsesOf, readFacts } from './facts.ts';

/** The rules that a past batch would have met. */
export interface PastVerdict extends Pick<PastBatch, 'batchId' | 'createdAt'> {
  readonly met: readonly MetRule[];
}

/** Bounds the work: two seconds of one thread. */
const MAX_PIPELINES = 50_000;
const BATCHES_AT_ONCE = 50;

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
  const { batches, isCut } = takeNewest(await findPastBatches(db, projectId, oldest));
  const verdicts: PastVerdict[] = [];
  let today = startDay('');
  for (let from = 0; from < batches.length; from += BATCHES_AT_ONCE) {
    const some = batches.slice(from, from + BATCHES_AT_ONCE);
    const ids = some.map(({ batchId }) => batchId);
    const pipelines = Map.groupBy(await findPastPipelines(db, ids), ({ batchId }) => batchId);
    for (const { batchId, createdAt, createdTokenAccounts } of some) {
      const day = utcDay(createdAt);
      if (day !== today.day) today = startDay(day);
      const facts = readFacts(pipelines.get(batchId) ?? [], token);
      const tokenAccounts = { asked: createdTokenAccounts, usedToday: today.tokenAccounts };
      const met = [
        ...findMetRules(policy, token, facts, { ...today, tokenAccounts }),
        ...findWaits(policy, token, { now: createdAt, tokenAccounts: null }),
      ];
      verdicts.push({ batchId, createdAt, met });
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

/** Takes the newest batches that fit into the bound, oldest first. */
function takeNewest(batches: readonly PastBatch[]): {
  readonly batches: readonly PastBatch[];
  readonly isCut: boolean;
} {
  let pipelines = 0;
  let first = batches.length;
  while (first > 0 && pipelines + (batches[first - 1]?.pipelineCount ?? 0) <= MAX_PIPELINES) {
    first -= 1;
    pipelines += batches[first]?.pipelineCount ?? 0;
  }
  return { batches: batches.slice(first), isCut: first > 0 };
}
