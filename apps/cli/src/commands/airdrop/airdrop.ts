import { basename } from 'node:path';
import { PROOF_TYPE } from '@flywheel/api';
import { groupDigits, pluralize, toDecimal } from '@flywheel/protocol';
import { type AirdropCsv, DUPLICATES, type Duplicates, readAirdropCsv } from '@flywheel/protocol/airdrop-csv';
import {
  type BatchProgress,
  type FlywheelClient,
  idempotencyKeyOf,
  requirePreviousRun,
  TOKEN_2022_PROGRAM_ADDRESS,
} from '@flywheel/sdk';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Context, openClient, requireApiKey } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { signInEverywhere } from '../../every-shard.ts';
import { readTextFile, readWallet, requireWritable } from '../../files.ts';
import { interruptible } from '../../interrupt.ts';
import { addPaymentOptions, type PaymentOptions, runNumberOf } from '../../options.ts';
import { createProgressBar, type ProgressBar } from '../../progress.ts';
import { alreadyPaid, recordRun } from '../../run-recorder.ts';
import { openRunState, requireUnchanged } from '../../run-state.ts';
import { openVerification } from '../../verify-options.ts';
import { findProjectOfKey } from '../project/sign-in.ts';
import { type AirdropCheck, checkAirdrop } from './check.ts';
import { type AirdropPlan, keyOfPart, planAirdrop } from './plan.ts';
import { requireSameRows, rowsText } from './receipt.ts';
import { type AirdropReport, sendAirdrop } from './send.ts';

interface AirdropOptions extends PaymentOptions {
  readonly type: string;
  readonly duplicates: Duplicates;
  readonly round?: string;
  readonly receipt?: string;
  readonly dryRun?: boolean;
}

/** `flywheel airdrop FILE.csv`: as many batches as needed, each row exactly once. */
export function addAirdropCommand(program: Command, context: Context): void {
  const command = program
    .command('airdrop')
    .summary('airdrop to every row of a CSV file, each exactly once')
    .description(
      'Airdrop to every row of FILE: address,amount in whole tokens. All rows are checked before anything is sent, and so is their total against the vault and today’s limits. Run the same command again to resume, also after Ctrl-C or a crash. No row is paid twice: the idempotency key of each batch depends only on the project, the rows of the batch, --type, --round and the number of the run. The receipt, FILE.receipt.csv, lists the transaction of each row. Exits with 3 if a batch failed, and with 5 if an earlier command has paid every row.',
    )
    .argument('<file>', 'CSV file with rows of address,amount')
    .option('--type <type>', 'proof type of the pipelines', parseType, 'AIRDROP')
    .addOption(
      new Option('--duplicates <mode>', 'rows with the same address: report an error, add them up, or pay each')
        .choices(DUPLICATES)
        .default('refuse'),
    )
    .option('--round <name>', 'name of this airdrop, if another one begins with the same rows')
    .option('--receipt <file>', 'where to write the result of each row; default: FILE.receipt.csv')
    .option('--dry-run', 'check everything and send nothing');
  addPaymentOptions(command)
    .addHelpText('after', '\nExample:\n  flywheel airdrop season-1.csv --wallet wallet.json --dry-run')
    .action(async (file: string, options: AirdropOptions) => {
      const bar = await createProgressBar(context.output);
      await interruptible((signal) => runAirdrop(context, { file, options, bar, signal }), RESUME).finally(() =>
        bar.close(),
      );
    });
}

const RESUME = 'Run the same command again to resume.';

function parseType(text: string): string {
  if (PROOF_TYPE.test(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 64 characters of A-Z a-z 0-9 _ -.');
}

interface AirdropRun {
  readonly file: string;
  readonly options: AirdropOptions;
  readonly bar: ProgressBar;
  readonly signal: AbortSignal;
}

async function runAirdrop(context: Context, { file, options, bar, signal }: AirdropRun): Promise<void> {
  const { output } = context;
  const client = openClient(context, options);
  const wallet = await readWallet(options.wallet);
  const csv = await readTextFile(file, 'Expected rows of address,amount.');
  const console = await signInEverywhere(context, options, wallet);
  const project = await findProjectOfKey(console, requireApiKey(context));
  const { mint, decimals, program } = project.token;
  const read = readAirdropCsv(csv, { decimals, duplicates: options.duplicates });
  const { rows, totalBaseUnits } = read;
  if (read.issues.length > 0) throw fileError(file, read, options.duplicates);
  if (rows.length === 0) throw new CliError('ERR_FILE', `${file} has no rows. Expected rows of address,amount.`);
  const { verify, keep } = await openVerification(context, { project, wallet: wallet.address }, options);
  const run = runNumberOf(options);
  const receiptFile = options.receipt ?? `${file.replace(/\.csv$/i, '')}${run === 1 ? '' : `.run${run}`}.receipt.csv`;
  const text = rowsText(rows);
  const sent = { text, content: await idempotencyKeyOf('airdrop rows', text) };
  const state = openRunState(context, project.id, receiptFile);
  await requireUnchanged(client, state, { file, content: sent.content });
  await requireSameRows({ receiptFile, state, content: sent.content }, rows);
  requireWritable(receiptFile);

  const token = { mint, ...(program === 'token-2022' && { tokenProgram: TOKEN_2022_PROGRAM_ADDRESS }) };
  const planOf = (number: number) =>
    planAirdrop(rows, { type: options.type, round: options.round ?? '', run: number, token });
  const plan = planOf(run);
  bar.show(0, `check ${pluralize(rows.length, 'row')}`);
  await requireRunBefore(client, { plan, before: planOf(run - 1) }, signal);
  const check = await checkAirdrop({ client, console, project, signal }, plan, rows);
  const summary = { rows: rows.length, total: toDecimal(totalBaseUnits, decimals), ...summarize(plan, check) };
  if (check.issues.length > 0) {
    throw new CliError('ERR_AIRDROP_REFUSED', `Nothing was sent.\n  ${firstLines(check.issues)}`);
  }
  if (options.dryRun) {
    bar.close();
    output.result({ ...summary, receipt: null }, describe(summary, 'Dry run: nothing was sent.'));
    return;
  }

  const deps = { client, console, projectId: project.id, wallet, verify, signal };
  const recorder = recordRun(output, { state, sent, note: bar.note });
  const onEvent = (event: BatchProgress) => {
    recorder.onProgress(event);
    for (const news of keep(event)) bar.note(news);
  };
  const request = { rows, plan, receiptFile, sendRest: options.rest === true };
  const report = await sendAirdrop(deps, request, { bar, onEvent });
  bar.close();
  finish(context, report, { ...summary, receipt: receiptFile });
  const endedBefore = recorder.endedBefore();
  if (endedBefore !== null) throw alreadyPaid(endedBefore, run, 'rows');
}

/**
 * @param before the plan of the run before.
 * @throws FlywheelError `ERR_RUN_TOO_EARLY` if this run has not begun and the one before has rows left.
 */
async function requireRunBefore(
  client: FlywheelClient,
  { plan, before }: { readonly plan: AirdropPlan; readonly before: AirdropPlan },
  signal: AbortSignal,
): Promise<void> {
  const { identity, parts } = plan;
  const [first] = parts;
  if (identity.run === 1 || !first) return;
  if (await client.isKeyUsed(await keyOfPart(first, identity, 0), { signal })) return;
  for (const part of before.parts) {
    const pipelines = part.map(({ pipeline }) => pipeline);
    await requirePreviousRun(client, pipelines, identity.run, { signal });
  }
}

/** About one screen. */
const MAX_SHOWN_LINES = 20;

function firstLines(lines: readonly string[]): string {
  const more = lines.length > MAX_SHOWN_LINES ? [`and ${lines.length - MAX_SHOWN_LINES} more.`] : [];
  return [...lines.slice(0, MAX_SHOWN_LINES), ...more].join('\n  ');
}

function fileError(file: string, { rows, issues, repeated }: AirdropCsv, duplicates: Duplicates): CliError {
  const lines = issues.toSorted((a, b) => a.line - b.line).map(({ line, message }) => `line ${line}: ${message}`);
  const counts = `${pluralize(issues.length, 'invalid row')}, ${pluralize(rows.length, 'valid row')}`;
  const hint = duplicates === 'refuse' && repeated.length > 0 ? `\n${DUPLICATES_HINT}` : '';
  return new CliError('ERR_FILE', `${basename(file)} has ${counts}. Nothing was sent.\n  ${firstLines(lines)}${hint}`);
}

const DUPLICATES_HINT =
  'For repeated addresses, --duplicates merge adds their amounts up and --duplicates keep pays each row.';

interface Summary {
  readonly rows: number;
  readonly total: string;
  readonly batches: number;
  readonly pipelines: number;
  readonly begunBatches: number;
  /** With the rows, the input of the idempotency keys. */
  readonly identity: AirdropPlan['identity'];
}

function summarize({ parts, identity }: AirdropPlan, { begunParts }: AirdropCheck) {
  return { batches: parts.length, pipelines: parts.flat().length, begunBatches: begunParts, identity };
}

function describe({ rows, total, batches, pipelines, begunBatches, identity }: Summary, last: string): string {
  const { type, round, run } = identity;
  const begun = begunBatches === 0 ? '' : ` ${pluralize(begunBatches, 'batch', 'batches')} already begun; resuming.`;
  return [
    `${pluralize(rows, 'row')}, ${groupDigits(total)} tokens, in ${pluralize(pipelines, 'pipeline')}, ${pluralize(batches, 'batch', 'batches')}.${begun}`,
    `  Type ${type}${round === '' ? '' : `, round ${round}`}, run ${run}: the same rows, type, round and run are never paid twice.`,
    `  ${last}`,
  ].join('\n');
}

/** @throws CliError `ERR_BATCH_FAILED` */
function finish(
  { output }: Context,
  { outcomes, batchIds, failure }: AirdropReport,
  summary: Summary & { receipt: string },
): void {
  const executed = outcomes.filter(({ status }) => status === 'executed').length;
  const signatures = new Set(outcomes.map(({ signature }) => signature).filter((signature) => signature !== '')).size;
  const counts = `${executed} of ${pluralize(outcomes.length, 'row')} executed, in ${pluralize(signatures, 'transaction')}.`;
  output.result(
    { ...summary, executedRows: executed, batchIds },
    describe(summary, `${counts} Receipt: ${summary.receipt}`),
  );
  if (failure === null) return;
  throw new CliError(
    'ERR_BATCH_FAILED',
    `Batch ${failure.batchId} failed: ${failure.message} ${pluralize(executed, 'row')} paid, ${pluralize(outcomes.length - executed, 'row')} not paid. Fix the cause, then pass --rest: it sends the rows that were not paid.`,
  );
}
