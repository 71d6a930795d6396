import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';
import { describeJobs } from './describe-jobs.ts';

interface ListOptions {
  readonly stuck?: boolean;
  readonly completed?: boolean;
}

interface RetryOptions {
  readonly stuck?: boolean;
}

/** `flywheel jobs [list]` and `flywheel jobs retry`: for the operator, over the service’s database. */
export function addJobsCommands(program: Command, context: Context): void {
  const { output } = context;
  const jobs = program
    .command('jobs')
    .summary('list and retry the work behind batches')
    .description('The work behind batches, for the operator. Reads DATABASE_URL, or the embedded database.');

  jobs
    .command('list', { isDefault: true })
    .summary('list jobs (the default)')
    .description('List the jobs that wait, run or failed, and say which are stuck and why.')
    .option('--stuck', 'only those that need a person')
    .option('--completed', 'also those that ended well within the last day')
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://… flywheel jobs --stuck')
    .action(async ({ stuck = false, completed = false }: ListOptions) => {
      const all = await withOperations(context, ({ listJobs }) => listJobs({ withCompleted: completed }));
      const shown = stuck ? all.filter(({ problem }) => problem !== null) : all;
      output.result({ jobs: shown }, describeJobs(shown, { now: new Date(), onlyStuck: stuck, stream: output.stdout }));
    });

  jobs
    .command('retry')
    .summary('let jobs begin at once')
    .description(
      'Let jobs begin at once: failed ones, those whose worker is gone, those that wait for their time. Safe at any moment: work goes on from where the chain is, and nothing runs twice.',
    )
    .argument('[job-id...]', 'as flywheel jobs lists them')
    .option('--stuck', 'all that flywheel jobs --stuck lists')
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://… flywheel jobs retry --stuck')
    .action(async (ids: readonly string[], { stuck = false }: RetryOptions) => {
      if (stuck === ids.length > 0) {
        throw new CliError('ERR_USAGE', 'flywheel jobs retry takes job ids, or --stuck. flywheel jobs lists them.');
      }
      const misshapen = ids.find((id) => !UUID.test(id));
      if (misshapen !== undefined)
        throw new CliError('ERR_USAGE', `${misshapen} is no job id. flywheel jobs lists them.`);
      const { retried, left } = await withOperations(context, async ({ listJobs, retryJob }) => {
        const wanted = stuck ? (await listJobs({ withCompleted: false })).filter(isStuck).map(({ id }) => id) : ids;
        const outcomes = await Promise.all(wanted.map(async (id) => ({ id, isRetried: await retryJob(id) })));
        const idsWhere = (isRetried: boolean) =>
          outcomes.filter((outcome) => outcome.isRetried === isRetried).map(({ id }) => id);
        return { retried: idsWhere(true), left: idsWhere(false) };
      });
      const lines = [
        retried.length === 0 ? 'Nothing to retry.' : `${retried.length} will begin within a second: flywheel jobs`,
        ...left.map((id) => `${id} is left alone: it runs, has ended well, or does not exist.`),
      ];
      output.result({ retried, left }, lines.join('\n'));
    });
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function isStuck({ problem }: { readonly problem: string | null }): boolean {
  return problem !== null;
}

async function withOperations<T>(
  { environment }: Context,
  use: Parameters<typeof import('@flywheel/service').operate<T>>[1],
): Promise<T> {
  // Loaded only here: the other commands start faster without the service.
  const { ConfigError, operate } = await import('@flywheel/service');
  try {
    return await operate(environment, use);
  } catch (error) {
    if (error instanceof ConfigError) throw new CliError('ERR_CONFIGURATION', error.message, { cause: error });
    throw error;
  }
}
