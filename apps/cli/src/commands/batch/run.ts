import { type Batch, InitBatchRequest, type InitWarning, type ProjectSummary } from '@flywheel/api';
import { type BatchProgress, type FlywheelClient, isFlywheelError, runBatch, runKeyOf } from '@flywheel/sdk';
import type { KeyPairSigner } from '@solana/kit';
import { type Command, Option } from 'commander';
import {
  type Context,
  openClient,
  openConsole,
  type RpcUrlOption,
  requireApiKey,
  serviceUrl,
  type UrlOption,
} from '../../context.ts';
import { CliError } from '../../errors.ts';
import { readRequestFile, readWallet } from '../../files.ts';
import { count } from '../../format.ts';
import { interruptible } from '../../interrupt.ts';
import {
  addRpcUrlOption,
  addRunNumberOptions,
  addUrlOption,
  addWalletOption,
  nextRunOption,
  type RunNumberOptions,
  runNumberOf,
} from '../../options.ts';
import { createProgress } from '../../progress.ts';
import { openRunState, type RunState } from '../../run-state.ts';
import { verifyOptionsOf } from '../../verify-options.ts';
import { findProjectOfKey } from '../project/sign-in.ts';
import { showBatchProgress } from './batch-progress.ts';
import { describeBatch, describeFailure } from './describe-batch.ts';

interface RunOptions extends UrlOption, RpcUrlOption, RunNumberOptions {
  readonly wallet: string;
  readonly skipVerification?: boolean;
  readonly idempotencyKey?: string;
}

const STEPS = {
  compile: 'Compile',
  setUp: 'Set up on chain',
  approve: 'Approve with your wallet',
  execute: 'Execute',
};

/** `flywheel run FILE --wallet FILE`: init, sign, execute, and follow to the end. */
export function addRunCommand(program: Command, context: Context): void {
  const command = addWalletOption(program.command('run'))
    .summary('init, sign, execute and follow a batch')
    .description(
      'Do everything for one batch: compile the pipelines in FILE, verify that the batch on chain matches FILE, approve it with your wallet, execute it and follow it until it ends. Run the same command again to resume the same batch. Nothing is paid twice: the idempotency key depends only on the project, the pipelines and the number of the run. Exits with 3 if the batch failed, and with 5 if an earlier command has paid it.',
    )
    .argument('<file>', 'init request as JSON: {"pipelines": [...]}')
    .addOption(
      new Option('--idempotency-key <uuid>', 'a key of your own, instead of the key of the run').conflicts([
        'again',
        'run',
        'rest',
      ]),
    )
    .option('--skip-verification', 'sign without comparing the batch on chain with FILE: this trusts the service');
  addUrlOption(addRpcUrlOption(addRunNumberOptions(command)))
    .addHelpText('after', '\nExample:\n  flywheel run examples/rewards.json --wallet wallet.json')
    .action((file: string, options: RunOptions) => runFile(context, file, options));
}

async function runFile(context: Context, file: string, options: RunOptions): Promise<void> {
  const { output } = context;
  const client = openClient(context, options);
  const wallet = await readWallet(options.wallet);
  const requestText = await readRequestFile(file);
  const request = InitBatchRequest.safeParse(JSON.parse(requestText));
  const content = request.success ? await runKeyOf(request.data.pipelines) : null;
  const project = await checkWallet(context, wallet, options);
  const verification = options.skipVerification ? {} : { verify: await verifyOptionsOf(context, project, options) };
  const state = openRunState(context, project?.id ?? serviceUrl(context, options), file);
  if (options.idempotencyKey === undefined) await requireUnchanged(client, state, { file, content });

  const run = runNumberOf(options);
  const progress = createProgress(output, STEPS);
  const showProgress = showBatchProgress(progress);
  const names = { idempotencyKey: '', batchId: null as string | null };
  let hadEnded = true;
  const onProgress = (event: BatchProgress) => {
    if (event.stage === 'begun') {
      Object.assign(names, { idempotencyKey: event.idempotencyKey, batchId: null });
      progress.note(`Idempotency key ${names.idempotencyKey}`);
    }
    if (event.stage === 'compiled') names.batchId = event.init.batch.id;
    if (event.stage === 'begun' || event.stage === 'compiled') {
      output.nameBatch({ ...names });
      if (content !== null) state.write({ content, ...names, at: new Date().toISOString() });
    }
    if (event.stage === 'ended') hadEnded &&= event.hadEnded;
    showProgress(event);
    if (event.stage !== 'compiled') return;
    progress.note(`Batch ${names.batchId}`);
    for (const line of describeWarnings(event.init.warnings ?? [])) progress.note(line);
  };
  const batch = await interruptible((signal) => {
    const { idempotencyKey, rest: sendRest = false } = options;
    const key = idempotencyKey === undefined ? {} : { idempotencyKey };
    return runBatch(client, requestText, { wallet, run, sendRest, signal, onProgress, ...verification, ...key });
  }, RESUME).finally(() => progress.close());
  output.result(batch, describeBatch(batch, output.stdout));
  requirePaid(batch, { hadEnded, run: options.idempotencyKey === undefined ? run : null });
}

const RESUME = 'Nothing is lost: run the same command again to resume.';

/**
 * Finds the project of the API key among those of the wallet, so that a wrong wallet is an error before anything is
 * created. Returns null if the service has no sign-in (decision 37); then only the signature shows a wrong wallet.
 * @throws CliError `ERR_WALLET`
 */
async function checkWallet(
  context: Context,
  wallet: KeyPairSigner,
  options: UrlOption,
): Promise<ProjectSummary | null> {
  const console = openConsole(context, options);
  try {
    await console.signIn(wallet);
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_INVALID_REQUEST')) throw error;
    context.output.note(`Note: the wallet cannot be checked before it signs. ${error.message}`);
    return null;
  }
  return findProjectOfKey(console, requireApiKey(context));
}

/** A file that changed since its batch was created, and before all of it was executed, would be paid as it was and again as it is. */
async function requireUnchanged(
  client: FlywheelClient,
  state: RunState,
  { file, content }: { readonly file: string; readonly content: string | null },
): Promise<void> {
  const record = state.read();
  if (record === null || record.batchId === null || record.content === content) return;
  const { batchId } = record;
  const batch = await client.getBatch(batchId).catch((error) => {
    if (isFlywheelError(error, 'ERR_BATCH_NOT_FOUND')) return null;
    throw error;
  });
  const issue = batch === null ? null : describeChangeIssue(file, batch);
  if (issue !== null) throw new CliError('ERR_FILE', issue);
}

/**
 * Describes how sending a file that has changed since a batch was created from it could pay twice. Null if it could not: the
 * batch has executed all of its pipelines, or none and never will.
 */
export function describeChangeIssue(file: string, { id, status, executeResult }: Batch): string | null {
  const executed = executeResult?.totalSuccessful ?? 0;
  if (status === 'EXECUTED' || (status === 'FAILED' && executed === 0)) return null;
  const changed = `${file} has changed since batch ${id} was created from it`;
  return status === 'FAILED'
    ? `${changed}, and that batch executed ${count(executed, 'pipeline')} before it failed. Sending the file now could pay them again. Restore the file and add --rest, which sends only the pipelines that were not executed. If the changed file is another payment, save it under another name.`
    : `${changed}, and that batch is ${status}. Sending the file now would be another payment. Restore the file to resume the batch, or end it with flywheel cancel ${id}.`;
}

/** A batch that repeats an earlier one has a warning per pipeline. */
const MAX_SHOWN_WARNINGS = 3;

function describeWarnings(warnings: readonly InitWarning[]): string[] {
  const shown = warnings.slice(0, MAX_SHOWN_WARNINGS).map(({ message }) => `Note: ${message}`);
  const more = warnings.length - shown.length;
  return more > 0 ? [...shown, `Note: ${count(more, 'more warning')}; flywheel init prints all of them.`] : shown;
}

interface RunEnd {
  /** True if every batch of the run ended before this command. */
  readonly hadEnded: boolean;
  /** null with an idempotency key of the caller. */
  readonly run: number | null;
}

/** @throws CliError `ERR_ALREADY_PAID` or `ERR_BATCH_FAILED`, with the next step. */
function requirePaid(batch: Batch, { hadEnded, run }: RunEnd): void {
  if (batch.status === 'EXECUTED') {
    if (!hadEnded) return;
    const next = run === null ? '' : ` ${nextRunOption(run)} pays the same pipelines once more.`;
    const which = run === null || run === 1 ? '' : ` (run ${run})`;
    throw new CliError('ERR_ALREADY_PAID', `Paid on ${batch.dateUpdated}${which}; nothing was sent.${next}`);
  }
  const rest = run === null ? '' : ' The same command with --rest sends the pipelines that were not executed.';
  throw new CliError('ERR_BATCH_FAILED', `${describeFailure(batch)}${rest}`);
}
