import { type Batch, InitBatchRequest, type ProjectSummary } from '@flywheel/api';
import { type BatchProgress, isFlywheelError, runBatch, runKeyOf } from '@flywheel/sdk';
import type { KeyPairSigner } from '@solana/kit';
import { type Command, Option } from 'commander';
import type { ConsoleClient } from '../../console-client.ts';
import { type Context, openClient, requireApiKey, serviceUrl, type UrlOption } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { signInEverywhere } from '../../every-shard.ts';
import { readRequestFile, readWallet } from '../../files.ts';
import { interruptible } from '../../interrupt.ts';
import { addPaymentOptions, addRequestArgument, type PaymentOptions, parseId, runNumberOf } from '../../options.ts';
import { createProgress } from '../../progress.ts';
import { alreadyPaid, recordRun } from '../../run-recorder.ts';
import { openRunState, requireUnchanged } from '../../run-state.ts';
import { openVerification } from '../../verify-options.ts';
import { findProjectOfKey } from '../project/sign-in.ts';
import { showBatchProgress } from './batch-progress.ts';
import { describeBatch, describeFailure } from './describe-batch.ts';

interface RunOptions extends PaymentOptions {
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
  const command = addRequestArgument(program.command('run'))
    .summary('init, sign, execute and follow a batch')
    .description(
      'Do everything for one batch: compile the pipelines in FILE, verify that the batch on chain matches FILE, approve it with your wallet, execute it and follow it until it ends. Run the same command again to resume the same batch. Nothing is paid twice: the idempotency key depends only on the project, the pipelines and the number of the run. Exits with 3 if the batch failed, and with 5 if an earlier command has paid it.',
    )
    .addOption(
      new Option('--idempotency-key <uuid>', 'a key of your own, instead of the key of the run')
        .argParser(parseId)
        .conflicts(['again', 'run', 'rest']),
    )
    .option('--skip-verification', 'sign without comparing the batch on chain with FILE: this trusts the service');
  addPaymentOptions(command)
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
  const verification = options.skipVerification
    ? TRUST_SERVICE
    : await openVerification(context, { project, wallet: wallet.address }, options);
  const state = openRunState(context, project?.id ?? serviceUrl(context, options), file);
  if (options.idempotencyKey === undefined) await requireUnchanged(client, state, { file, content });

  const run = runNumberOf(options);
  const progress = await createProgress(output, STEPS);
  const showProgress = showBatchProgress(progress);
  const sent = content === null ? null : { text: requestText, content };
  const recorder = recordRun(output, { state, sent, note: progress.note });
  const onProgress = (event: BatchProgress) => {
    showProgress(event);
    recorder.onProgress(event);
    for (const news of verification.keep(event)) progress.note(news);
  };
  const batch = await interruptible((signal) => {
    const { idempotencyKey, rest: sendRest = false } = options;
    const key = idempotencyKey === undefined ? {} : { idempotencyKey };
    return runBatch(client, requestText, {
      wallet,
      verify: verification.verify,
      run,
      sendRest,
      signal,
      onProgress,
      ...key,
    });
  }, RESUME).finally(() => progress.close());
  output.result(batch, describeBatch(batch, output.stdout));
  const ownRun = options.idempotencyKey === undefined ? run : null;
  requireNoFailure(batch, ownRun);
  const endedBefore = recorder.endedBefore();
  if (endedBefore !== null) throw alreadyPaid(endedBefore, ownRun, 'pipelines');
}

const TRUST_SERVICE = { verify: 'trust-service', keep: () => [] } as const;

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
  let console: ConsoleClient;
  try {
    console = await signInEverywhere(context, options, wallet);
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_INVALID_REQUEST')) throw error;
    context.output.note(`Note: the wallet cannot be checked before it signs. ${error.message}`);
    return null;
  }
  return findProjectOfKey(console, requireApiKey(context));
}

/** @throws CliError `ERR_BATCH_FAILED`, with the next step. */
function requireNoFailure(batch: Batch, run: number | null): void {
  if (batch.status !== 'FAILED') return;
  const rest = run === null ? '' : ' The same command with --rest sends the pipelines that were not executed.';
  throw new CliError('ERR_BATCH_FAILED', `${describeFailure(batch)}${rest}`);
}
