import type { InitWarning } from '@flywheel/api';
import { type BatchProgress, runBatch } from '@flywheel/sdk';
import type { Command } from 'commander';
import { askedRpcUrlOf, type Context, openClient, type RpcUrlOption, type UrlOption } from '../../context.ts';
import { readWallet } from '../../files.ts';
import { interruptible } from '../../interrupt.ts';
import { createProgress } from '../../progress.ts';
import { readRequestFile } from '../../request-file.ts';
import { count } from '../../words.ts';
import { showBatchProgress } from './batch-progress.ts';
import { describeBatch } from './describe-batch.ts';
import { requireExecuted } from './require-executed.ts';

interface RunOptions extends UrlOption, RpcUrlOption {
  readonly wallet: string;
  readonly look: boolean;
  readonly idempotencyKey?: string;
}

const STEPS = {
  compile: 'Compile',
  setUp: 'Set up on chain',
  approve: 'Approve with your wallet',
  execute: 'Execute',
};

/** A batch that repeats another has one a pipeline. */
const SHOWN_WARNINGS = 3;

/** `flywheel run FILE --wallet FILE`: init, sign, execute, and follow to the end. */
export function addRunCommand(program: Command, context: Context): void {
  program
    .command('run')
    .summary('init, sign, execute and follow a batch in one go')
    .description(
      'The whole job: compile the pipelines in FILE, look at what the chain holds of them, approve them with your wallet if that is what FILE says, execute, follow to the end. Exits with 3 when the batch failed.',
    )
    .argument('<file>', 'init request as JSON: {"pipelines": [...]}')
    .requiredOption('--wallet <file>', 'the project’s wallet, a Solana CLI keypair file')
    .option('--idempotency-key <uuid>', 'repeat with the same key to go on with the same batch')
    .option('--no-look', 'sign without looking at the chain: the service is believed in what the batch does')
    .option('--rpc-url <url>', 'the node to look at, else SOLANA_RPC_URL, else the one that the service names')
    .option('--url <url>', 'the service, else FLYWHEEL_URL')
    .addHelpText('after', '\nExample:\n  flywheel run examples/rewards.json --wallet wallet.json')
    .action(async (file: string, options: RunOptions) => {
      const { output } = context;
      const client = openClient(context, options);
      const wallet = await readWallet(options.wallet);
      const requestText = await readRequestFile(file);
      const look = options.look ? { look: { rpcUrl: await askedRpcUrlOf(context, options) } } : {};
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
        return runBatch(client, requestText, { wallet, signal, onProgress, ...look, ...key });
      }).finally(() => progress.close());
      for (const line of describeWarnings(warnings)) output.note(line);
      output.result(batch, describeBatch(batch, output.stdout));
      requireExecuted(batch);
    });
}

function describeWarnings(warnings: readonly InitWarning[]): string[] {
  const shown = warnings.slice(0, SHOWN_WARNINGS).map(({ message }) => `Note: ${message}`);
  const more = warnings.length - shown.length;
  return more > 0 ? [...shown, `Note: ${count(more, 'warning')} more; flywheel init prints all of them.`] : shown;
}
