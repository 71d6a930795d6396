import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { TOKEN_2022_PROGRAM, toDecimal } from '@flywheel/sdk';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { createBar } from '../../bar.ts';
import {
  apiKeyOf,
  askedRpcUrlOf,
  type Context,
  openClient,
  openConsole,
  type RpcUrlOption,
  type UrlOption,
} from '../../context.ts';
import { CliError } from '../../errors.ts';
import { readWallet } from '../../files.ts';
import { interruptible } from '../../interrupt.ts';
import { count, groupDigits } from '../../words.ts';
import { type AirdropCheck, checkAirdrop } from './check.ts';
import { findProject } from './find-project.ts';
import { type AirdropPlan, planAirdrop } from './plan.ts';
import { requireSameRows } from './receipt.ts';
import { DUPLICATES, type Duplicates, type RowFault, readRows } from './rows.ts';
import { type AirdropReport, sendAirdrop } from './send-airdrop.ts';

interface AirdropOptions extends UrlOption, RpcUrlOption {
  readonly wallet: string;
  readonly type: string;
  readonly duplicates: Duplicates;
  readonly round?: string;
  readonly receipt?: string;
  readonly dryRun?: boolean;
  readonly retryFailed?: boolean;
}

/** `flywheel airdrop FILE.csv`: as many batches as it takes, each row once whatever happens. */
export function addAirdropCommand(program: Command, context: Context): void {
  program
    .command('airdrop')
    .summary('airdrop to every row of a CSV file, each once')
    .description(
      'Airdrop to every row of FILE, address,amount in whole tokens. All rows are checked first, and their total against the vault and today’s limits. Idempotency keys follow from the rows, --type and --round alone: run it again after Ctrl-C or a crash and it goes on where it was; a row that was sent is never sent again. The receipt, FILE.receipt.csv, holds the signature of each row.',
    )
    .argument('<file>', 'CSV: address,amount')
    .requiredOption('--wallet <file>', 'the project’s wallet, a Solana CLI keypair file')
    .option('--type <type>', 'proof type of the pipelines', parseType, 'AIRDROP')
    .addOption(
      new Option('--duplicates <how>', 'an address that is there twice: a fault, added up, or paid twice')
        .choices(DUPLICATES)
        .default('refuse'),
    )
    .option('--round <word>', 'a word that makes the very same rows another airdrop')
    .option('--receipt <file>', 'where what became of each row is written; FILE.receipt.csv by default')
    .option('--dry-run', 'check everything and send nothing')
    .option('--retry-failed', 'send anew what a batch that failed before left unsent')
    .option(
      '--rpc-url <url>',
      'the node that shows the batch before it is signed, else SOLANA_RPC_URL, else the service’s',
    )
    .option('--url <url>', 'the service, else FLYWHEEL_URL')
    .addHelpText('after', '\nExample:\n  flywheel airdrop season-1.csv --wallet wallet.json --dry-run')
    .action(async (file: string, options: AirdropOptions) => {
      const bar = createBar(context.output);
      await interruptible((signal) => airdrop(context, { file, options, bar, signal }), GO_ON).finally(() =>
        bar.close(),
      );
    });
}

const GO_ON = 'Run the same command again: it goes on where it was.';

interface AirdropRun {
  readonly file: string;
  readonly options: AirdropOptions;
  readonly bar: ReturnType<typeof createBar>;
  readonly signal: AbortSignal;
}

async function airdrop(context: Context, { file, options, bar, signal }: AirdropRun): Promise<void> {
  const { output } = context;
  const client = openClient(context, options);
  const wallet = await readWallet(options.wallet);
  const csv = await readCsv(file);
  const console = openConsole(context, options);
  await console.signIn(wallet);
  const project = await findProject(console, apiKeyOf(context));
  const { mint, decimals, program } = project.token;
  const { rows, faults, totalBaseUnits } = readRows(csv, { decimals, duplicates: options.duplicates });
  if (faults.length > 0) throw faultyFile(file, faults, rows.length);
  if (rows.length === 0) throw new CliError('ERR_FILE', `${file} has no rows. Each takes address,amount.`);
  const receiptFile = options.receipt ?? `${file.replace(/\.csv$/i, '')}.receipt.csv`;
  await requireSameRows(receiptFile, rows);

  const token = { mint, ...(program === 'token-2022' && { tokenProgram: TOKEN_2022_PROGRAM }) };
  const plan = planAirdrop(rows, { type: options.type, round: options.round ?? '', token });
  bar.show({ fraction: 0, text: `check ${count(rows.length, 'row')}` });
  const check = await checkAirdrop({ client, console, project, signal }, plan, rows);
  const summary = { rows: rows.length, total: toDecimal(totalBaseUnits, decimals), ...describePlan(plan, check) };
  if (check.problems.length > 0) {
    const lines = check.problems.slice(0, MAX_SHOWN).join('\n  ');
    throw new CliError('ERR_AIRDROP_REFUSED', `Nothing was sent. ${lines}${moreOf(check.problems.length)}`);
  }
  if (options.dryRun) {
    bar.close();
    output.result(
      { ...summary, receipt: null },
      sentencesOf(summary, 'Nothing was sent: leave --dry-run out to send them.'),
    );
    return;
  }
  if (!output.json && !output.terminal) output.note(sentencesOf(summary, null));

  const look = { rpcUrl: await askedRpcUrlOf(context, options), vaultAddress: project.vaultAddress, mintAddress: mint };
  const deps = { client, console, projectId: project.id, wallet, look, signal };
  const retryFailed = options.retryFailed === true;
  const report = await sendAirdrop(deps, { rows, plan, receiptFile, retryFailed }, bar);
  bar.close();
  finish(context, report, { ...summary, receipt: receiptFile });
}

function parseType(text: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 64 of A-Z a-z 0-9 _ -.');
}

async function readCsv(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new CliError('ERR_FILE', `${file} cannot be read. It must hold rows of address,amount.`, { cause });
  }
}

/** A screenful. */
const MAX_SHOWN = 20;

function moreOf(total: number): string {
  return total > MAX_SHOWN ? `\n  and ${total - MAX_SHOWN} more.` : '';
}

function faultyFile(file: string, faults: readonly RowFault[], good: number): CliError {
  const lines = faults.toSorted((a, b) => a.line - b.line).slice(0, MAX_SHOWN);
  const shown = lines.map(({ line, message }) => `line ${line}: ${message}`).join('\n  ');
  const counts = `${basename(file)} has ${count(faults.length, 'fault')}, beside ${count(good, 'good row')}; nothing was sent.`;
  return new CliError('ERR_FILE', `${counts}\n  ${shown}${moreOf(faults.length)}`);
}

interface Summary {
  readonly rows: number;
  readonly total: string;
  readonly batches: number;
  readonly pipelines: number;
  readonly begunBatches: number;
  /** What the idempotency keys follow from. */
  readonly identity: AirdropPlan['identity'];
}

function describePlan({ parts, identity }: AirdropPlan, { begunParts }: AirdropCheck) {
  return { batches: parts.length, pipelines: parts.flat().length, begunBatches: begunParts, identity };
}

function sentencesOf(
  { rows, total, batches, pipelines, begunBatches, identity }: Summary,
  last: string | null,
): string {
  const { fingerprint, type, round } = identity;
  const begun =
    begunBatches === 0 ? '' : ` ${count(begunBatches, 'batch', 'batches')} of them begun before, and taken up again.`;
  return [
    `${count(rows, 'row')}, ${groupDigits(total)} tokens, in ${count(pipelines, 'pipeline')}, ${count(batches, 'batch', 'batches')}.${begun}`,
    `  Known by rows ${fingerprint.slice(0, 16)}…, type ${type}${round === '' ? '' : `, round ${round}`}: the same is never sent twice.`,
    ...(last === null ? [] : [`  ${last}`]),
  ].join('\n');
}

function finish(
  { output }: Context,
  { outcomes, batchIds, failure }: AirdropReport,
  summary: Summary & { receipt: string },
) {
  const executed = outcomes.filter(({ status }) => status === 'executed').length;
  const signatures = new Set(outcomes.map(({ signature }) => signature).filter((signature) => signature !== '')).size;
  output.result(
    { ...summary, executedRows: executed, batchIds },
    sentencesOf(
      summary,
      `${executed} of ${count(outcomes.length, 'row')} executed, in ${count(signatures, 'transaction')}. Receipt: ${summary.receipt}`,
    ),
  );
  if (failure === null) return;
  throw new CliError(
    'ERR_BATCH_FAILED',
    `Batch ${failure.batchId} failed: ${failure.message} What it executed stands, and ${count(outcomes.length - executed, 'row')} were not sent. Mend the cause, then run it again with --retry-failed.`,
  );
}
