import type { Writable } from 'node:stream';
import { COMPANY_OPERATIONS, type CompanyOverview, type ProjectSummary, TREASURY_OPERATIONS } from '@flywheel/api';
import { groupDigits, pluralize, SOL_DECIMALS, toDecimal } from '@flywheel/protocol';
import { type Command, Option } from 'commander';
import { AUDIT_PAGE, describeAuditLog } from '../../audit-log.ts';
import { type Context, openConsole, type ShardOption } from '../../context.ts';
import { readWallet } from '../../files.ts';
import { layOutPairs, layOutTable } from '../../format.ts';
import { parseWholeNumber } from '../../options.ts';
import { addOperatorOptions, noteMissing, type OperatorOptions, openDesk } from './decide.ts';

interface RotateOptions extends OperatorOptions {
  readonly member: 'company' | 'operator';
  readonly idempotencyKey?: string;
}

/** Options of a command about the state of one shard. */
interface StateOptions extends OperatorOptions, ShardOption {}

interface AuditOptions extends StateOptions {
  readonly project?: string;
  readonly cursor?: string;
}

/** `flywheel company status`, `projects`, `rotate`, `jobs`, `retry` and `audit` */
export function addOverviewCommands(company: Command, context: Context): void {
  const { output } = context;
  const signIn = async (options: StateOptions) => {
    const console = openConsole(context, options);
    await console.signIn(await readWallet(options.wallet));
    return console;
  };

  addStateOptions(company.command('status'))
    .summary('show the state of the service')
    .description('Show the operator’s balance and runway, nonces, open and pending batches, and stuck jobs.')
    .addHelpText('after', '\nExample:\n  flywheel company status --wallet operator.json')
    .action(async (options: StateOptions) => {
      const overview = await (await signIn(options)).call(COMPANY_OPERATIONS.getCompany, {});
      output.result(overview, describeOverview(overview, output.stdout));
    });

  addOperatorOptions(company.command('projects'))
    .summary('list all projects')
    .description('List all projects, newest first: wallet, token, approval, and if it is admitted or paused.')
    .addHelpText('after', '\nExample:\n  flywheel company projects --wallet operator.json')
    .action(async (options: OperatorOptions) => {
      const console = await openDesk(context, options);
      const { answers, failures } = await console.callEach(COMPANY_OPERATIONS.listCompanyProjects, {});
      const projects = answers
        .flatMap(({ answer }) => answer.body.projects)
        .toSorted((a, b) => b.dateCreated.localeCompare(a.dateCreated));
      const rows = projects.map(cellsOf);
      const { heading, lines } = layOutTable(
        ['PROJECT', 'WALLET', 'TOKEN', 'APPROVAL', 'OPEN', 'STATE'],
        rows,
        output.stdout,
      );
      output.result(
        { projects, ...noteMissing(context, console, failures) },
        rows.length === 0 ? 'No projects.' : [heading, ...lines].join('\n'),
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

  addAuditCommand(company, context, signIn);
  addJobCommands(company, context, signIn);
}

/** Adds the options of a command about the state of one shard. */
function addStateOptions(command: Command): Command {
  const parse = parseWholeNumber(1, MAX_SHARD);
  return addOperatorOptions(command).option('--shard <number>', 'shard of the service, if it has several', parse);
}

/** More shards than any service has. */
const MAX_SHARD = 999;

type SignIn = (options: StateOptions) => Promise<ReturnType<typeof openConsole>>;

function addAuditCommand(company: Command, { output }: Context, signIn: SignIn): void {
  addStateOptions(company.command('audit'))
    .summary('read the audit log')
    .description('Print who did what, newest first, a page at a time.')
    .option('--project <id>', 'only entries of this project')
    .option('--cursor <cursor>', 'the next page, as the page before names it')
    .addHelpText('after', '\nExample:\n  flywheel company audit --wallet operator.json')
    .action(async ({ project, cursor, ...options }: AuditOptions) => {
      const query = { limit: AUDIT_PAGE, ...(project && { projectId: project }), ...(cursor && { cursor }) };
      const entries = await (await signIn(options)).call(COMPANY_OPERATIONS.listAudit, { query });
      output.result(entries, describeAuditLog(entries, output.stdout));
    });
}

function addJobCommands(company: Command, { output }: Context, signIn: SignIn): void {
  addStateOptions(company.command('jobs'))
    .summary('list background jobs')
    .description('List the jobs that have not ended, oldest first, with the reason for each stuck one.')
    .addHelpText('after', '\nExample:\n  flywheel company jobs --wallet operator.json')
    .action(async (options: StateOptions) => {
      const found = await (await signIn(options)).call(COMPANY_OPERATIONS.listJobs, {});
      const rows = found.jobs.map(({ id, type, state, problem = '', failedAttempts, batchId = '', error = '' }) => [
        ...[id, type, state, problem, String(failedAttempts), batchId],
        error.split('\n', 1)[0] ?? '',
      ]);
      const headings = ['JOB', 'TYPE', 'STATE', 'PROBLEM', 'FAILED', 'BATCH', 'ERROR'];
      const { heading, lines } = layOutTable(headings, rows, output.stdout);
      output.result(found, rows.length === 0 ? 'No pending or running jobs.' : [heading, ...lines].join('\n'));
    });
  addStateOptions(company.command('retry'))
    .summary('run a background job now')
    .description('Run a job now. It is safe at any time: a job starts by reading the state on chain.')
    .argument('<job-id>', 'id of the job: flywheel company jobs')
    .addHelpText('after', '\nExample:\n  flywheel company retry 0198a3c2-… --wallet operator.json')
    .action(async (jobId: string, options: StateOptions) => {
      const console = await signIn(options);
      const retried = await console.call(COMPANY_OPERATIONS.retryJob, { params: { jobId }, body: {} });
      output.result(retried, `Job ${jobId} starts within a second.`);
    });
}

function describeOverview(overview: CompanyOverview, stream: Writable): string {
  const { operator, nonces, exposure, company } = overview;
  const sol = (lamports: string) => `${groupDigits(toDecimal(BigInt(lamports), SOL_DECIMALS))} SOL`;
  const runway =
    operator.runwayDays === null ? 'nothing is spent' : `enough for ${pluralize(operator.runwayDays, 'day')}`;
  const paused = overview.isPaused
    ? [['paused', `all projects, since ${overview.pausedAt ?? 'an unknown time'}`] as const]
    : [];
  const pairs = [
    ...paused,
    ['company', company],
    ['operator', operator.address],
    [
      'holds',
      operator.lamports === null ? 'unknown: the cluster does not answer' : `${sol(operator.lamports)}, ${runway}`,
    ],
    ['locked', `${sol(exposure.lockedLamports)} of rent at most`],
    ['spent', `${sol(exposure.spentTodayLamports)} today`],
    ['nonces', `${nonces.available} available, ${nonces.leased} leased`],
    ['batches', `${overview.openBatches} open, ${overview.waitingBatches} pending approval`],
    ['projects', String(overview.projects)],
    ['stuck', pluralize(overview.stuckJobs, 'job')],
  ] as const;
  return layOutPairs(pairs, stream).join('\n');
}

function cellsOf({ id, wallet, token, approvalMode, openBatches, isPaused, isAdmitted }: ProjectSummary): string[] {
  const state = isAdmitted ? (isPaused ? 'paused' : 'served') : 'not admitted';
  return [id, wallet, token.mint, approvalMode, String(openBatches), state];
}
