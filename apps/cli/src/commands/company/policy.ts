import {
  CONSOLE_OPERATIONS,
  CompanyPolicy,
  POLICY_OPERATIONS,
  type PolicyTrial,
  type ProjectPolicy,
} from '@flywheel/api';
import {
  address,
  describePolicy,
  firstParseIssue,
  type CompanyPolicy as Policy,
  type PolicyDecision,
  pluralize,
  policyHash,
  readPolicy,
  writePolicy,
} from '@flywheel/protocol';
import { readAddressColumn } from '@flywheel/protocol/airdrop-csv';
import { readMint } from '@flywheel/sdk';
import type { Command } from 'commander';
import { confirmSigning } from '../../confirm.ts';
import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { readJsonObject, readTextFile } from '../../files.ts';
import {
  addDecisionOptions,
  addOperatorOptions,
  type OperatorOptions,
  openDesk,
  openOperator,
  signDecision,
} from './decide.ts';

interface ListOptions {
  readonly allow?: string;
  readonly deny?: string;
}

interface SetOptions extends OperatorOptions, ListOptions {
  readonly yes?: boolean;
}

/** `flywheel company policy show`, `set` and `try` */
export function addPolicyCommands(company: Command, context: Context): void {
  const policy = company
    .command('policy')
    .summary('rules of a project: show, set, try')
    .description('Show, set or try the rules that the company has for a project.');
  addOperatorOptions(policy.command('show'))
    .summary('show the rules of a project')
    .description('Show the rules of a project and how its versions differ. The project’s own wallet may ask too.')
    .argument('<project-id>', 'id of the project')
    .addHelpText('after', '\nExample:\n  flywheel company policy show 0198a3c2-… --wallet operator.json')
    .action((projectId: string, options: OperatorOptions) => show(context, projectId, options));
  addListOptions(addDecisionOptions(policy.command('set')).option('--yes', 'sign without asking'))
    .summary('set the rules of a project')
    .description(
      'Show all rules of a file and what they would have done to the batches of the last 30 days, and sign them. Stricter rules bind every batch that the company has not signed; looser ones only later batches. A file with {} removes all rules.',
    )
    .argument('<project-id>', 'id of the project')
    .argument('<file>', 'JSON of rules, as policy show --json prints them under policy')
    .addHelpText('after', '\nExample:\n  flywheel company policy set 0198a3c2-… rules.json --wallet operator.json')
    .action((projectId: string, file: string, options: SetOptions) => setPolicy(context, projectId, file, options));
  addListOptions(addOperatorOptions(policy.command('try')))
    .summary('try rules on the batches of the last 30 days')
    .description('Judge the batches of the last 30 days by the rules of a file, which are not saved.')
    .argument('<project-id>', 'id of the project')
    .argument('<file>', 'JSON of rules')
    .addHelpText('after', '\nExample:\n  flywheel company policy try 0198a3c2-… rules.json --wallet operator.json')
    .action((projectId: string, file: string, options: OperatorOptions & ListOptions) =>
      tryPolicy(context, projectId, file, options),
    );
}

function addListOptions(command: Command): Command {
  return command
    .option('--allow <file>', 'CSV of the only recipients that may be paid, in its first column')
    .option('--deny <file>', 'CSV of recipients that may not be paid, in its first column');
}

async function show(context: Context, projectId: string, options: OperatorOptions): Promise<void> {
  const console = await openDesk(context, options);
  const policy = await console.call(POLICY_OPERATIONS.getPolicy, { params: { projectId } });
  context.output.result(policy, describeShown(policy));
}

function describeShown({ version, rules, versions }: ProjectPolicy): string {
  if (version === 0) return 'The company has set no rules.';
  return [
    `Version ${version}:`,
    ...(rules.length === 0 ? ['  No rules.'] : rules.map(({ sentence }) => `  ${sentence}`)),
    ...versions.flatMap(({ version: number, operator, dateApplied, changes }) => [
      '',
      `Version ${number}, ${dateApplied}, by ${operator}:`,
      ...changes.map((change) => `  ${change}`),
    ]),
  ].join('\n');
}

async function setPolicy(
  context: Context,
  projectId: string,
  file: string,
  { yes, ...options }: SetOptions,
): Promise<void> {
  const fields = await readFields(file, options);
  const operator = await openOperator(context, options);
  const { console, rpcUrl } = operator;
  const params = { projectId };
  const project = await console.call(CONSOLE_OPERATIONS.getProject, { params });
  const present = await console.call(POLICY_OPERATIONS.getPolicy, { params });
  const mint = address(project.token.mint);
  // Amounts are signed in base units, so the decimals must not be the service's.
  const { decimals } = await readMint(rpcUrl, mint);
  const policy = parse(file, fields, decimals);
  const version = present.version + 1;
  const multisig = address(project.multisig.address);
  const subject: PolicyDecision = { type: 'policy', multisig, token: { mint, decimals }, version, policy };
  const facts = [
    `Set version ${version} of the rules of project ${projectId}:`,
    ...describeSigned(policy, decimals).map((line) => `  ${line}`),
    `  Token: ${mint}, ${decimals} decimals`,
    `  Multisig: ${multisig}`,
  ];
  const signed = writePolicy(policy, { decimals });
  const trial = await console.call(POLICY_OPERATIONS.tryPolicy, { params, body: { policy: signed } });
  await confirmSigning(context, [...facts, ...describeTrial(trial)], {
    question: 'Sign and set?',
    isConfirmed: yes === true,
    option: '--yes',
  });
  const body = { version, policy: signed, ...(await signDecision(operator, subject)) };
  const state = await console.call(POLICY_OPERATIONS.changePolicy, { params, body });
  const isApplied = state.version === version;
  context.output.result(
    { ...state, trial },
    isApplied ? `Version ${version} is in force.` : `Version ${version} is signed. A worker applies it when one runs.`,
  );
}

/** Lists of recipients are shown up to this length; the hash covers all of them. */
const MAX_SHOWN = 40;

function describeSigned(policy: Policy, decimals: number): string[] {
  const sentences = describePolicy(policy, { decimals }).map(({ sentence }) => sentence);
  const lists = (['allowed', 'denied'] as const).flatMap((name) => {
    const recipients = policy[name] ?? [];
    const more = recipients.length - MAX_SHOWN;
    return [
      ...recipients.slice(0, MAX_SHOWN).map((recipient) => `  ${name}: ${recipient}`),
      ...(more > 0 ? [`  ${name}: and ${more} more`] : []),
    ];
  });
  return [...(sentences.length === 0 ? ['No rules.'] : sentences), ...lists, `Policy: ${policyHash(policy)}`];
}

async function tryPolicy(
  context: Context,
  projectId: string,
  file: string,
  options: OperatorOptions & ListOptions,
): Promise<void> {
  const policy = await readFields(file, options);
  const console = await openDesk(context, options);
  const trial = await console.call(POLICY_OPERATIONS.tryPolicy, { params: { projectId }, body: { policy } });
  context.output.result(trial, describeTrial(trial).join('\n'));
}

function describeTrial({ since, byRule, examples, ...counts }: PolicyTrial): string[] {
  const { batches, untouched, refused, person, twoOperators, waits } = counts;
  return [
    `Of ${pluralize(batches, 'batch', 'batches')} since ${since}, these rules would have`,
    `  refused ${refused}, sent ${person} to one operator and ${twoOperators} to two, held up ${waits},`,
    `  and left ${untouched} unchanged.`,
    ...byRule.map(({ sentence, batches: met }) => `${String(met).padStart(6)}  ${sentence}`),
    ...examples.flatMap(({ batchId, batchIndex, dateCreated, rules }) => [
      `${batchIndex === undefined ? '' : `Batch ${batchIndex}, `}${batchId}, ${dateCreated}:`,
      ...rules.map(({ message }) => `  ${message}`),
    ]),
  ];
}

/** Reads the rules of a file, with the lists of recipients that options name in their place. */
async function readFields(file: string, { allow, deny }: ListOptions): Promise<CompanyPolicy> {
  const fields = await readJsonObject(file, 'rules, such as {"personPerBatch":"1000"}');
  const lists = {
    ...(allow !== undefined && { allowed: await readList(allow) }),
    ...(deny !== undefined && { denied: await readList(deny) }),
  };
  const parsed = CompanyPolicy.safeParse({ ...fields, ...lists });
  if (parsed.success) return parsed.data;
  const { place, message } = firstParseIssue(parsed.error, 'the object');
  throw new CliError('ERR_FILE', `${file}: ${place} ${message}.`);
}

/** Reads the first column of a CSV file; a heading is skipped. */
async function readList(file: string): Promise<string[]> {
  return readAddressColumn(await readTextFile(file, 'Expected a list of recipients, one address a line.'));
}

function parse(file: string, fields: CompanyPolicy, decimals: number): Policy {
  const read = readPolicy(fields, { decimals });
  if ('policy' in read) return read.policy;
  throw new CliError('ERR_FILE', `${file}: ${read.issue.place} ${read.issue.problem}`);
}
