import { COMPANY_OPERATIONS, CONSOLE_OPERATIONS, headersFor, readShard, type ShardFailure } from '@flywheel/api';
import { type AdmissionDecision, address, describeTerms, type ResumeDecision } from '@flywheel/protocol';
import type { Command } from 'commander';
import { confirmEffect, confirmSigning } from '../../confirm.ts';
import type { ConsoleClient } from '../../console-client.ts';
import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { describeFailures } from '../../every-shard.ts';
import {
  addDecisionOptions,
  addOperatorOptions,
  type Operator,
  type OperatorOptions,
  openDesk,
  openOperator,
  signDecision,
} from './decide.ts';
import { APPLIED_LATER, parseTerms, requireDecimals } from './terms.ts';

interface ConfirmedOptions extends OperatorOptions {
  readonly yes?: boolean;
}

interface AdmitOptions extends ConfirmedOptions {
  readonly withdraw?: boolean;
}

interface ManyOptions {
  readonly all?: boolean;
}

interface PauseOptions extends ConfirmedOptions, ManyOptions {
  readonly reason?: string;
}

/** `flywheel company admit`, `pause` and `resume` */
export function addProjectDecisionCommands(company: Command, context: Context): void {
  addYesOption(addDecisionOptions(company.command('admit')))
    .summary('admit a project, or withdraw its admission')
    .description(
      'Show a project’s wallet, its token on chain, and what the company then approves by itself, and sign its admission on these terms. Confirm the wallet and the token with the project through another channel.',
    )
    .argument('<project-id>', 'id of the project')
    .option('--withdraw', 'withdraw the admission: the project can create no more batches')
    .addHelpText('after', '\nExample:\n  flywheel company admit 0198a3c2-… --wallet operator.json')
    .action((projectId: string, options: AdmitOptions) => admit(context, projectId, options));
  addAllOption(addOperatorOptions(company.command('pause')))
    .summary('pause a project, or all')
    .description('Pause a project, or all: nothing of its batches is sent any more. It needs no signature.')
    .option('--reason <text>', 'shown in the error of the requests that a pause stops')
    .option('--yes', 'pause all projects without asking')
    .addHelpText('after', '\nExample:\n  flywheel company pause --all --wallet operator.json --reason "Maintenance"')
    .action((projectId: string | undefined, options: PauseOptions) => pause(context, projectId, options));
  addYesOption(addAllOption(addDecisionOptions(company.command('resume'))))
    .summary('resume a project, or all')
    .description('Sign the end of a pause. Projects that were paused one by one stay paused after --all.')
    .addHelpText('after', '\nExample:\n  flywheel company resume --all --wallet operator.json')
    .action((projectId: string | undefined, options: ConfirmedOptions & ManyOptions) =>
      resume(context, projectId, options),
    );
}

function addYesOption(command: Command): Command {
  return command.option('--yes', 'sign without asking');
}

function addAllOption(command: Command): Command {
  return command.argument('[project-id]', 'id of the project').option('--all', 'all projects');
}

async function admit(context: Context, projectId: string, { withdraw, yes, ...options }: AdmitOptions): Promise<void> {
  const operator = await openOperator(context, options);
  const { console, rpcUrl } = operator;
  const params = { projectId };
  const project = await console.call(CONSOLE_OPERATIONS.getProject, { params });
  const { companyTerms } = await console.call(CONSOLE_OPERATIONS.getSettings, { params });
  const { mint, decimals } = project.token;
  const token = { mint: address(mint), decimals };
  const onChain = await requireDecimals(rpcUrl, token);
  const terms = withdraw ? null : companyTerms;
  const subject: AdmissionDecision = {
    type: 'admission',
    multisig: address(project.multisig.address),
    wallet: address(project.multisig.wallet),
    token,
    terms: terms && parseTerms(terms, decimals),
  };
  const facts = [
    `${withdraw ? 'Withdraw the admission of' : 'Admit'} project ${projectId}:`,
    `  Wallet: ${subject.wallet}`,
    `  Multisig: ${subject.multisig}`,
    `  Token: ${mint}, ${decimals} decimals`,
    `  Can create more tokens: ${onChain.mintAuthority ?? 'no wallet'}`,
    `  Can freeze accounts: ${onChain.freezeAuthority ?? 'no wallet'}`,
    ...(subject.terms === null ? [] : describeTerms({ token, to: subject.terms }).map((line) => `  ${line}`)),
  ];
  const question = withdraw ? 'Sign and withdraw?' : 'Sign and admit?';
  await confirmSigning(context, facts, { question, isConfirmed: yes === true, option: '--yes' });
  const body = { ...(await signDecision(operator, subject)), terms };
  const state = await console.call(COMPANY_OPERATIONS.changeAdmission, { params, body });
  const text = state.isAdmitted ? 'is admitted.' : 'is not admitted.';
  const isPending = state.isAdmitted === (withdraw === true);
  context.output.result(state, `Project ${projectId} ${text}${isPending ? APPLIED_LATER : ''}`);
}

async function pause(
  context: Context,
  projectId: string | undefined,
  { all, reason, yes, ...options }: PauseOptions,
): Promise<void> {
  const chosen = chooseProject(projectId, all);
  if (chosen === null) await confirmEffect(context, PAUSE_ALL_EFFECT, { question: 'Pause all?', yes });
  const console = await openDesk(context, options);
  const body = reason === undefined ? {} : { reason };
  if (chosen === null) {
    const { failures } = await console.callEach(COMPANY_OPERATIONS.pauseAll, { body });
    requireEveryShard(failures, 'The other shards have done it. Repeat the command.');
    context.output.result({ isPaused: true }, 'All projects are paused.');
    return;
  }
  const state = await console.call(COMPANY_OPERATIONS.pauseProject, { params: { projectId: chosen }, body });
  context.output.result(state, `Project ${chosen} is paused.`);
}

const PAUSE_ALL_EFFECT =
  'No batch of any project is sent any more, until an operator signs the end of the pause with flywheel company resume --all.';

/**
 * @param others says what happened in the other shards, and the next step.
 * @throws CliError `ERR_SHARDS_LEFT` if a pause of all projects, or its end, is not that of every shard.
 */
function requireEveryShard(failures: readonly ShardFailure[], others: string): void {
  if (failures.length === 0) return;
  throw new CliError('ERR_SHARDS_LEFT', `${describeFailures(failures).trimStart()} ${others}`);
}

async function resume(
  context: Context,
  projectId: string | undefined,
  { all, yes, ...options }: ConfirmedOptions & ManyOptions,
): Promise<void> {
  const chosen = chooseProject(projectId, all);
  const operator = await openOperator(context, options);
  const { multisig, pauses, failures } = await readPauses(operator.console, chosen);
  const name = chosen === null ? 'all projects' : `project ${chosen}`;
  if (pauses.length === 0) {
    requireEveryShard(failures, 'The other shards have no pause of all projects. Nothing was signed.');
    throw new CliError('ERR_USAGE', `There is no pause of ${name}. Nothing was signed.`);
  }
  const facts = [
    `Resume ${name}:`,
    ...pauses.map(({ pausedAt }) => `  Paused since: ${pausedAt}`),
    ...(multisig === null ? [] : [`  Multisig: ${multisig}`]),
  ];
  const question = 'Sign and resume?';
  await confirmSigning(context, facts, { question, isConfirmed: yes === true, option: '--yes' });
  const resumed: Pause[] = [];
  const refused: ShardFailure[] = [];
  let isPaused = false;
  for (const pause of pauses) {
    try {
      isPaused = (await sendResume(operator, { projectId: chosen, multisig }, pause)).isPaused || isPaused;
      resumed.push(pause);
    } catch (error) {
      if (pauses.length + failures.length === 1) throw error;
      refused.push({ shard: pause.shard, error });
    }
  }
  const done = resumed.map(({ shard }) => `shard ${shard}`).join(', ') || 'none';
  requireEveryShard(
    [...failures, ...refused],
    `${isPaused ? 'Signed' : 'Resumed'}: ${done}.${isPaused ? APPLIED_LATER : ''} Repeat the command.`,
  );
  context.output.result(
    { isPaused },
    isPaused ? `The end of the pause is signed.${APPLIED_LATER}` : `Resumed: ${name}.`,
  );
}

interface Pause {
  /** Shard of the project, or of all projects: 1 if the service has no shards. */
  readonly shard: number;
  /** ISO 8601. */
  readonly pausedAt: string;
}

interface PausedProjects {
  /** Null for all projects. */
  readonly projectId: string | null;
  readonly multisig: ResumeDecision['multisig'];
}

/** Signs and sends the end of one pause. */
async function sendResume(
  operator: Operator,
  { projectId, multisig }: PausedProjects,
  { shard, pausedAt }: Pause,
): Promise<{ readonly isPaused: boolean }> {
  const { console } = operator;
  const subject: ResumeDecision = { type: 'resume', multisig, pausedAt: new Date(pausedAt) };
  const body = { ...(await signDecision(operator, subject)), pausedAt };
  if (projectId !== null) return console.call(COMPANY_OPERATIONS.resumeProject, { params: { projectId }, body });
  const reply = await console.callForReply(COMPANY_OPERATIONS.resumeAll, { headers: headersFor(shard), body });
  return reply.body;
}

/** Reads the pause of a project, or those of all projects: each shard has its own. */
async function readPauses(console: ConsoleClient, projectId: string | null) {
  if (projectId === null) {
    const { answers, failures } = await console.callEach(COMPANY_OPERATIONS.getCompany, {});
    return { multisig: null, pauses: answers.flatMap(({ shard, answer }) => pausesOf(shard, answer.body)), failures };
  }
  const { body, ...reply } = await console.callForReply(CONSOLE_OPERATIONS.getProject, { params: { projectId } });
  const { shard } = readShard(reply);
  return { multisig: address(body.multisig.address), pauses: pausesOf(shard, body), failures: [] };
}

function pausesOf(shard: number, { pausedAt }: { readonly pausedAt?: string | undefined }): readonly Pause[] {
  return pausedAt === undefined ? [] : [{ shard, pausedAt }];
}

/** @returns null for all projects. */
function chooseProject(projectId: string | undefined, all = false): string | null {
  if (all !== (projectId === undefined)) {
    throw new CliError('ERR_USAGE', 'Name a project, or pass --all.');
  }
  return projectId ?? null;
}
