import type { InitWarning } from '@flywheel/api';
import { type BatchProgress, runBatch } from '@flywheel/sdk';
import type { Command } from 'commander';
import { type Context, openClient, type RpcUrlOption, resolveRpcUrl, type UrlOption } from '../../context.ts';
import { readRequestFile, readWallet } from '../../files.ts';
import { count } from '../../format.ts';
import { interruptible } from '../../interrupt.ts';
import { addRpcUrlOption, addUrlOption, addWalletOption } from '../../options.ts';
import { createProgress } from '../../progress.ts';
import { showBatchProgress } from './batch-progress.ts';
import { describeBatch, requireNotFailed } from './describe-batch.ts';

interface RunOptions extends UrlOption, RpcUrlOption {
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

/** A batch that repeats an earlier one has a warning per pipeline. */
const MAX_SHOWN_WARNINGS = 3;

/** `flywheel run FILE --wallet FILE`: init, sign, execute, and follow to the end. */
export function addRunCommand(program: Command, context: Context): void {
  const command = addWalletOption(program.command('run'))
    .summary('init, sign, execute and follow a batch')
    .description(
      'Do everything for one batch: compile the pipelines in FILE, verify that the batch on chain matches FILE, approve it with your wallet, execute it and follow it until it ends. Exits with 3 if the batch failed.',
    )
    .argument('<file>', 'init request as JSON: {"pipelines": [...]}')
    .option('--idempotency-key <uuid>', 'resume with the same key: the same batch, never executed twice')
    .option('--skip-verification', 'sign without comparing the batch on chain with FILE: this trusts the service');
  addUrlOption(addRpcUrlOption(command))
    .addHelpText('after', '\nExample:\n  flywheel run examples/rewards.json --wallet wallet.json')
    .action(async (file: string, options: RunOptions) => {
      const { output } = context;
      const client = openClient(context, options);
      const wallet = await readWallet(options.wallet);
      const requestText = await readRequestFile(file);
      const verification = options.skipVerification
        ? {}
        : { verify: { rpcUrl: await resolveRpcUrl(context, options) } };
      const progress = createProgress(output, STEPS);
      const showProgress = showBatchProgress(progress);
      let warnings: readonly InitWarning[] = [];
      const onProgress = (event: BatchProgress) => {
        if (event.stage === 'compiled') warnings = event.init.warnings ?? [];
        showProgress(event);
      };
      const batch = await interruptible(async (signal) => {
        progress.begin('compile');
        const { idempotencyKey } = options;
        const key = idempotencyKey === undefined ? {} : { idempotencyKey };
        return runBatch(client, requestText, { wallet, signal, onProgress, ...verification, ...key });
      }).finally(() => progress.close());
      for (const line of describeWarnings(warnings)) output.note(line);
      output.result(batch, describeBatch(batch, output.stdout));
      requireNotFailed(batch);
    });
}

function describeWarnings(warnings: readonly InitWarning[]): string[] {
  const shown = warnings.slice(0, MAX_SHOWN_WARNINGS).map(({ message }) => `Note: ${message}`);
  const more = warnings.length - shown.length;
  return more > 0 ? [...shown, `Note: ${count(more, 'more warning')}; flywheel init prints all of them.`] : shown;
}
