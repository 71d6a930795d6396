import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { isUuid } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import type { Admin } from '@flywheel/service';
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';
import { layOutTable, roughDuration } from '../format.ts';

interface ListOptions {
  readonly stuck?: boolean;
  readonly completed?: boolean;
}

interface RetryOptions {
  readonly stuck?: boolean;
}

/** `flywheel jobs [list]` and `flywheel jobs retry`: for administrators, on the service’s database. */
export function addJobsCommands(program: Command, context: Context): void {
  const jobs = program
    .command('jobs')
    .summary('list and retry background jobs')
    .description('Background jobs of the service, for administrators. Uses DATABASE_URL or the embedded database.');
  addList(jobs, context);
  addRetry(jobs, context);
}

function addList(jobs: Command, context: Context): void {
  const { output } = context;
  jobs
    .command('list', { isDefault: true })
    .summary('list jobs (default)')
    .description('List pending, running and failed jobs, and why a job is stuck.')
    .option('--stuck', 'only stuck jobs, which need a person')
    .option('--completed', 'also jobs that completed in the last 24 hours')
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://… flywheel jobs --stuck')
    .action(async ({ stuck = false, completed = false }: ListOptions) => {
      const all = await withAdminOf(context, ({ listJobs }) => listJobs({ withCompleted: completed }));
      const shown = stuck ? all.filter(isStuck) : all;
      output.result({ jobs: shown }, describeJobs(shown, { now: new Date(), onlyStuck: stuck, stream: output.stdout }));
    });
}

function addRetry(jobs: Command, context: Context): void {
  const { output } = context;
  jobs
    .command('retry')
    .summary('run jobs now')
    .description(
      'Run jobs now: failed jobs, jobs whose worker is gone, and jobs scheduled for later. Always safe: a job continues from the state on chain, and nothing is executed twice.',
    )
    .argument('[job-id...]', 'ids, as in flywheel jobs')
    .option('--stuck', 'all stuck jobs')
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://… flywheel jobs retry --stuck')
    .action(async (ids: readonly string[], { stuck = false }: RetryOptions) => {
      if (stuck === ids.length > 0) {
        throw new CliError('ERR_USAGE', 'Pass job ids or --stuck. flywheel jobs lists the ids.');
      }
      const invalid = ids.find((id) => !isUuid(id));
      if (invalid !== undefined) {
        throw new CliError('ERR_USAGE', `${invalid} is not a job id. flywheel jobs lists the ids.`);
      }
      const { retried, left } = await withAdminOf(context, async ({ listJobs, retryJob }) => {
        const selected = stuck ? (await listJobs({ withCompleted: false })).filter(isStuck).map(({ id }) => id) : ids;
        const outcomes = await Promise.all(selected.map(async (id) => ({ id, isRetried: await retryJob(id) })));
        const idsWhere = (isRetried: boolean) =>
          outcomes.filter((outcome) => outcome.isRetried === isRetried).map(({ id }) => id);
        return { retried: idsWhere(true), left: idsWhere(false) };
      });
      const lines = [
        retried.length === 0
          ? 'Nothing to retry.'
          : `${pluralize(retried.length, 'job')} will start within a second. Check with flywheel jobs.`,
        ...left.map((id) => `${id} not retried: it is running, has completed, or does not exist.`),
      ];
      output.result({ retried, left }, lines.join('\n'));
      // A stuck job that was just listed has continued by itself; a job that a person named may not exist.
      if (left.length > 0 && !stuck) {
        const jobs = pluralize(left.length, 'job was', 'jobs were');
        throw new CliError('ERR_JOB_NOT_FOUND', `${jobs} not retried. flywheel jobs lists the ids.`);
      }
    });
}

type JobRecord = Awaited<ReturnType<Admin['listJobs']>>[number];

function isStuck({ problem }: JobRecord): boolean {
  return problem !== null;
}

/** Opens the service’s database for an administrator’s command. @throws CliError `ERR_CONFIGURATION` */
export async function withAdminOf<T>(
  { environment }: Context,
  use: Parameters<typeof import('@flywheel/service').withAdmin<T>>[1],
): Promise<T> {
  // Loaded on demand: the other commands start faster without the service.
  const { ConfigError, withAdmin } = await import('@flywheel/service');
  try {
    return await withAdmin(environment, use);
  } catch (error) {
    if (error instanceof ConfigError) throw new CliError('ERR_CONFIGURATION', error.message, { cause: error });
    throw error;
  }
}

const REASONS: { readonly [P in NonNullable<JobRecord['problem']>]: string } = {
  failed: 'failed permanently, and blocks the other jobs of its multisig',
  abandoned: 'its worker is gone and no other worker has taken it: is flywheel work running?',
  failing: 'fails repeatedly',
  unattended: 'is due and no worker takes it: is flywheel work running?',
};

const HEADINGS = ['JOB', 'TYPE', 'STATE', 'FAILED', 'AGE', 'BATCH'] as const;

/** A line per job; below a stuck one the reason. */
function describeJobs(
  jobs: readonly JobRecord[],
  { now, onlyStuck, stream }: { readonly now: Date; readonly onlyStuck: boolean; readonly stream: Writable },
): string {
  if (jobs.length === 0) return onlyStuck ? 'No stuck jobs.' : 'No pending or running jobs.';
  const rows = jobs.map((job) => cellsOf(job, now));
  const { heading, lines } = layOutTable(HEADINGS, rows, stream);
  const stuckCount = jobs.filter(isStuck).length;
  return [
    heading,
    ...jobs.flatMap(({ problem, error }, i) => [
      lines[i] ?? '',
      ...(problem === null ? [] : [styleText('red', `  ${REASONS[problem]}`, { stream })]),
      ...(error === null ? [] : [styleText('dim', `  ${error.split('\n', 1)[0]}`, { stream })]),
    ]),
    stuckCount === 0
      ? `${pluralize(jobs.length, 'job')}, none stuck.`
      : `${pluralize(jobs.length, 'job')}, ${stuckCount} stuck. To run them now: flywheel jobs retry --stuck`,
  ].join('\n');
}

function cellsOf({ id, type, state, failedAttempts, createdAt, dueAt, batchId, batchStatus }: JobRecord, now: Date) {
  const due = dueAt > now ? `, due in ${roughDuration(dueAt.getTime() - now.getTime())}` : '';
  const shownState = state === 'waiting' ? `pending${due}` : state;
  const batch = batchId === null ? '' : `${batchId} ${batchStatus ?? ''}`;
  return [id, type, shownState, String(failedAttempts), roughDuration(now.getTime() - createdAt.getTime()), batch];
}
