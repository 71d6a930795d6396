import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { Operations } from '@flywheel/service';
import { layOutTable } from '../format.ts';
import { count, roughDuration } from '../words.ts';

type JobRecord = Awaited<ReturnType<Operations['listJobs']>>[number];

const PROBLEMS: { readonly [P in NonNullable<JobRecord['problem']>]: string } = {
  failed: 'failed for good, and holds up the jobs of its multisig',
  abandoned: 'its worker is gone and no other has taken it over: is a flywheel work process running?',
  failing: 'fails again and again',
  unattended: 'is due and nobody takes it: is a flywheel work process running?',
};

const HEADINGS = ['JOB', 'TYPE', 'STATE', 'FAILED', 'AGE', 'BATCH'] as const;

/** A line each, and under those that are stuck why; then what to do. */
export function describeJobs(
  jobs: readonly JobRecord[],
  { now, onlyStuck, stream }: { readonly now: Date; readonly onlyStuck: boolean; readonly stream: Writable },
): string {
  if (jobs.length === 0) return onlyStuck ? 'No job is stuck.' : 'No job waits or runs.';
  const { heading, lines } = layOutTable(
    HEADINGS,
    jobs.map((job) => cellsOf(job, now)),
    stream,
  );
  const stuckCount = jobs.filter(({ problem }) => problem !== null).length;
  return [
    heading,
    ...jobs.flatMap(({ problem, error }, i) => [
      lines[i] ?? '',
      ...(problem === null ? [] : [styleText('red', `  ${PROBLEMS[problem]}`, { stream })]),
      ...(error === null ? [] : [styleText('dim', `  ${firstLine(error)}`, { stream })]),
    ]),
    stuckCount === 0
      ? `${count(jobs.length, 'job')}, none stuck.`
      : `${count(jobs.length, 'job')}, ${stuckCount} stuck: flywheel jobs retry --stuck`,
  ].join('\n');
}

function cellsOf({ id, type, state, failedAttempts, createdAt, dueAt, batchId, batchStatus }: JobRecord, now: Date) {
  const waits =
    state === 'waiting' && dueAt > now ? `waiting, ${roughDuration(dueAt.getTime() - now.getTime())}` : state;
  const batch = batchId === null ? '' : `${batchId} ${batchStatus ?? ''}`;
  return [id, type, waits, String(failedAttempts), roughDuration(now.getTime() - createdAt.getTime()), batch];
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
