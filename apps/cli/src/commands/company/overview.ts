import type { Writable } from 'node:stream';
import {
  COMPANY_OPERATIONS,
  type CompanyOfShards,
  type CompanyOverview,
  type InShard,
  isCursorOfShards,
  mergeJobs,
  mergeOverviews,
  mergeProjects,
  type ProjectSummary,
  readPageOfShards,
  TREASURY_OPERATIONS,
} from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import { type Command, Option } from 'commander';
import { AUDIT_PAGE, describeAuditLog } from '../../audit-log.ts';
import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { formatSol, layOutPairs, layOutTable } from '../../format.ts';
import { addOperatorOptions, noteMissing, type OperatorOptions, openDesk } from './decide.ts';

interface RotateOptions extends OperatorOptions {
  readonly member: 'company' | 'operator';
  readonly idempotencyKey?: string;
}

interface AuditOptions extends OperatorOptions {
  readonly project?: string;
  readonly cursor?: string;
}

/** `flywheel company status`, `projects`, `rotate`, `jobs`, `retry` and `audit` */
export function addOverviewCommands(company: Command, context: Context): void {
  const { output } = context;
  addOperatorOptions(company.command('status'))
    .summary('show the state of the service')
    .description('Show the operator’s balance and runway, nonces, open and pending batches, and stuck jobs.')
    .addHelpText('after', '\nExample:\n  flywheel company status --wallet operator.json')
    .action(async (options: OperatorOptions) => {
      const console = await openDesk(context, options);
      const { answers, failures } = await console.callEach(COMPANY_OPERATIONS.getCompany, {});
      const [only] = answers;
      if (only !== undefined && answers.length + failures.length === 1) {
        output.result(only.answer.body, describeOverview(only.answer.body, output.stdout));
        return;
      }
      const merged = mergeOverviews(answers);
      output.result({ ...merged, ...noteMissing(context, console, failures) }, describeShards(merged, output.stdout));
    });

  addOperatorOptions(company.command('projects'))
    .summary('list all projects')
    .description('List all projects, newest first: wallet, token, approval, and if it is admitted or paused.')
    .addHelpText('after', '\nExample:\n  flywheel company projects --wallet operator.json')
    .action(async (options: OperatorOptions) => {
      const console = await openDesk(context, options);
      const { answers, failures } = await console.callEach(COMPANY_OPERATIONS.listCompanyProjects, {});
      const projects = mergeProjects(answers);
      const { heading, lines } = layOutTable(
        ['PROJECT', 'WALLET', 'TOKEN', 'APPROVAL', 'OPEN', 'STATE'],
        projects.map(cellsOf),
        output.stdout,
      );
      output.result(
        { projects, ...noteMissing(context, console, failures) },
        projects.length === 0 ? 'No projects.' : [heading, ...lines].join('\n'),
      );
    });

  addOperatorOptions(company.command('rotate'))
    .summary('request the replacement of the company’s or the operator’s key in a project')
    .description(
      'Request that a project’s multisig gets the company’s or the operator’s key that the service uses now. The project’s wallet approves it (flywheel approve), then an operator of the company (flywheel company approve).',
    )
    .argument('<project-id>', 'id of the project: flywheel company projects')
    .addOption(
      new Option('--member <member>', 'the member that is replaced')
        .choices(['company', 'operator'])
        .makeOptionMandatory(),
    )
    .option('--idempotency-key <uuid>', 'the same key is the same replacement; default: a random key')
    .addHelpText('after', '\nExample:\n  flywheel company rotate 0198a3c2-… --member operator --wallet operator.json')
    .action(async (projectId: string, { member, idempotencyKey = crypto.randomUUID(), ...options }: RotateOptions) => {
      const console = await openDesk(context, options);
      output.nameBatch({ batchId: null, idempotencyKey });
      const operation = member === 'company' ? TREASURY_OPERATIONS.rotateCompany : TREASURY_OPERATIONS.rotateOperator;
      const headers = { 'x-idempotency-key': idempotencyKey };
      const rotation = await console.call(operation, { params: { projectId }, headers, body: {} });
      const { batchId, from, to } = rotation;
      output.result(
        rotation,
        `Batch ${batchId} replaces ${from} by ${to}. The project’s wallet approves it: flywheel approve ${batchId}`,
      );
    });

  addAuditCommand(company, context);
  addJobCommands(company, context);
}

function addAuditCommand(company: Command, context: Context): void {
  addOperatorOptions(company.command('audit'))
    .summary('read the audit log')
    .description('Print who did what, newest first, a page at a time.')
    .option('--project <id>', 'only entries of this project')
    .option('--cursor <cursor>', 'the next page, as the page before names it')
    .addHelpText('after', '\nExample:\n  flywheel company audit --wallet operator.json')
    .action((options: AuditOptions) => readAudit(context, options));
}

async function readAudit(context: Context, { project, cursor, ...options }: AuditOptions): Promise<void> {
  const { output } = context;
  const console = await openDesk(context, options);
  const { shards } = console;
  if (cursor !== undefined && shards.length + console.missing.length > 1 && !isCursorOfShards(cursor)) {
    throw new CliError('ERR_USAGE', `${cursor} is not a cursor of this log. Begin without --cursor.`);
  }
  const { entries, nextCursor, missing, count } = await readPageOfShards(
    (headers, of) => {
      const query = { limit: AUDIT_PAGE, ...(project && { projectId: project }), ...(of && { cursor: of }) };
      return console.callForReply(COMPANY_OPERATIONS.listAudit, { headers, query });
    },
    { cursor, limit: Number(AUDIT_PAGE), shards },
  );
  const page = { entries, ...(nextCursor !== undefined && { nextCursor }) };
  output.result(
    { ...page, ...noteMissing(context, console, [...console.missing, ...missing]) },
    describeAuditLog({ ...page, isSharded: count > 1 }, output.stdout),
  );
}

function addJobCommands(company: Command, context: Context): void {
  const { output } = context;
  addOperatorOptions(company.command('jobs'))
    .summary('list background jobs')
    .description('List the jobs that have not ended, oldest first, with the reason for each stuck one.')
    .addHelpText('after', '\nExample:\n  flywheel company jobs --wallet operator.json')
    .action(async (options: OperatorOptions) => {
      const console = await openDesk(context, options);
      const { answers, failures } = await console.callEach(COMPANY_OPERATIONS.listJobs, {});
      const jobs = mergeJobs(answers);
      const rows = jobs.map(({ id, type, state, problem = '', failedAttempts, batchId = '', error = '' }) => [
        ...[id, type, state, problem, String(failedAttempts), batchId],
        error.split('\n', 1)[0] ?? '',
      ]);
      const headings = ['JOB', 'TYPE', 'STATE', 'PROBLEM', 'FAILED', 'BATCH', 'ERROR'];
      const { heading, lines } = layOutTable(headings, rows, output.stdout);
      output.result(
        { jobs, ...noteMissing(context, console, failures) },
        rows.length === 0 ? 'No pending or running jobs.' : [heading, ...lines].join('\n'),
      );
    });
  addOperatorOptions(company.command('retry'))
    .summary('run a background job now')
    .description('Run a job now. It is safe at any time: a job starts by reading the state on chain.')
    .argument('<job-id>', 'id of the job: flywheel company jobs')
    .addHelpText('after', '\nExample:\n  flywheel company retry 0198a3c2-… --wallet operator.json')
    .action(async (jobId: string, options: OperatorOptions) => {
      const console = await openDesk(context, options);
      // The shards that do not have the job answer ERR_JOB_NOT_FOUND.
      const { answers } = await console.callEach(COMPANY_OPERATIONS.retryJob, { params: { jobId }, body: {} });
      const [retried] = answers;
      output.result(retried?.answer.body, `Job ${jobId} starts within a second.`);
    });
}

function describeOverview(overview: CompanyOverview, stream: Writable): string {
  const { operator, nonces, exposure, company } = overview;
  const paused = overview.isPaused
    ? [['paused', `all projects, since ${overview.pausedAt ?? 'an unknown time'}`] as const]
    : [];
  const pairs = [
    ...paused,
    ['company', company],
    ['operator', operator.address],
    ['holds', describeBalance(operator)],
    ['locked', `${formatSol(exposure.lockedLamports)} of rent at most`],
    ['spent', `${formatSol(exposure.spentTodayLamports)} today`],
    ['nonces', `${nonces.available} available, ${nonces.leased} leased`],
    ['batches', `${overview.openBatches} open, ${overview.waitingBatches} pending approval`],
    ['projects', String(overview.projects)],
    ['stuck', pluralize(overview.stuckJobs, 'job')],
  ] as const;
  return layOutPairs(pairs, stream).join('\n');
}

function describeBalance({ lamports, runwayDays }: CompanyOverview['operator']): string {
  if (lamports === null) return 'unknown: the cluster does not answer';
  return `${formatSol(lamports)}, ${runwayDays === null ? 'nothing is spent' : `enough for ${pluralize(runwayDays, 'day')}`}`;
}

/** Describes the sums of all shards, and each of them. */
function describeShards({ totals, shards }: CompanyOfShards, stream: Writable): string {
  const { operator } = totals;
  const pairs = [
    ['company', [...new Set(shards.map(({ company }) => company))].join(', ')],
    ...(operator ? [['operator', operator.address] as const, ['holds', describeBalance(operator)] as const] : []),
    ['batches', `${totals.openBatches} open, ${totals.waitingBatches} pending approval`],
    ['projects', String(totals.projects)],
    ['stuck', pluralize(totals.stuckJobs, 'job')],
  ] as const;
  const columns = [
    ['SHARD', ({ shard }) => String(shard)],
    ['PROJECTS', ({ projects }) => String(projects)],
    ['OPEN', ({ openBatches }) => String(openBatches)],
    ['PENDING', ({ waitingBatches }) => String(waitingBatches)],
    ['STUCK', ({ stuckJobs }) => String(stuckJobs)],
    ['NONCES', ({ nonces }) => String(nonces.available)],
    ['LOCKED', ({ exposure }) => formatSol(exposure.lockedLamports)],
    ['SPENT TODAY', ({ exposure }) => formatSol(exposure.spentTodayLamports)],
    ...(operator ? [] : OPERATOR_COLUMNS),
    ['PAUSED', ({ isPaused, pausedAt }) => (isPaused ? `since ${pausedAt ?? 'an unknown time'}` : '')],
  ] as const satisfies readonly ShardColumn[];
  const { heading, lines } = layOutTable(
    columns.map(([name]) => name),
    shards.map((shard) => columns.map(([, cellOf]) => cellOf(shard))),
    stream,
  );
  return [...layOutPairs(pairs, stream), '', heading, ...lines].join('\n');
}

type ShardColumn = readonly [name: string, cellOf: (shard: InShard<CompanyOverview>) => string];

/** Columns of shards that have several operators. */
const OPERATOR_COLUMNS: readonly ShardColumn[] = [
  ['OPERATOR', ({ operator }) => operator.address],
  ['HOLDS', ({ operator }) => describeBalance(operator)],
];

function cellsOf({ id, wallet, token, approvalMode, openBatches, isPaused, isAdmitted }: ProjectSummary): string[] {
  const states = [isAdmitted ? 'admitted' : 'not admitted', ...(isPaused ? ['paused'] : [])];
  return [id, wallet, token.mint, approvalMode, String(openBatches), states.join(', ')];
}
