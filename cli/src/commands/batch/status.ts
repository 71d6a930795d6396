import { followBatch } from '@flywheel/sdk';
import type { Command } from 'commander';
import { type Context, openClient, type UrlOption } from '../../context.ts';
import { describeBatch } from '../../describe/describe-batch.ts';
import { interruptible } from '../../terminal/interrupt.ts';

interface StatusOptions extends UrlOption {
  readonly watch?: boolean;
}

/** `flywheel status BATCH_ID [--watch]` */
export function addStatusCommand(program: Command, context: Context): void {
  program
    .command('status')
    .summary('read a batch')
    .description('Read a batch; with --watch follow it until it has ended.')
    .argument('<batch-id>', 'as init answered it')
    .option('--watch', 'say every change of status until the batch has ended')
    .option('--url <url>', 'the service, else FLYWHEEL_URL')
    .addHelpText('after', '\nExample:\n  flywheel status 0198a3c2-… --watch')
    .action(async (batchId: string, options: StatusOptions) => {
      const client = openClient(context, options);
      const { output } = context;
      const batch = options.watch
        ? await interruptible((signal) =>
            followBatch(client, batchId, {
              signal,
              onChange: ({ status, dateUpdated }) => output.note(`${dateUpdated}  ${status}`),
            }),
          )
        : await client.getBatch(batchId);
      output.result(batch, describeBatch(batch, output.stdout));
    });
}
