import type { Command } from 'commander';
import { type Context, openClient, type UrlOption } from '../../context.ts';
import { interruptible } from '../../interrupt.ts';
import { describeBatch } from './describe-batch.ts';
import { requireExecuted } from './require-executed.ts';
import { watchBatch } from './watch-batch.ts';

interface StatusOptions extends UrlOption {
  readonly watch?: boolean;
}

/** `flywheel status BATCH_ID [--watch]` */
export function addStatusCommand(program: Command, context: Context): void {
  program
    .command('status')
    .summary('read a batch, or watch it to its end')
    .description(
      'Read a batch. With --watch follow it to its end: a live picture on a terminal, else a line per event; exits with 3 when it failed.',
    )
    .argument('<batch-id>', 'as init answered it')
    .option('--watch', 'follow it until it has ended')
    .option('--url <url>', 'the service, else FLYWHEEL_URL')
    .addHelpText('after', '\nExample:\n  flywheel status 0198a3c2-… --watch')
    .action(async (batchId: string, { watch = false, ...options }: StatusOptions) => {
      const client = openClient(context, options);
      const { output } = context;
      if (watch) await interruptible((signal) => watchBatch(client, batchId, { output, signal }), GOES_ON);
      const batch = await client.getBatch(batchId);
      output.result(batch, describeBatch(batch, output.stdout));
      if (watch) requireExecuted(batch);
    });
}

const GOES_ON = 'The batch goes on.';
