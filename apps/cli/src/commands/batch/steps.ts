import type { Command } from 'commander';
import { type Context, openClient, type UrlOption } from '../../context.ts';
import { parseWholeNumber } from '../../options.ts';
import { describeBatch } from './describe-batch.ts';
import { requireExecuted } from './require-executed.ts';

interface ExecuteOptions extends UrlOption {
  readonly wait?: number;
}

/** The service holds an answer for two minutes at most. */
const MAX_WAIT_SECONDS = 120;

/** `flywheel execute BATCH_ID SIGNED_TX [--wait N]` */
export function addExecuteCommand(program: Command, context: Context): void {
  program
    .command('execute')
    .summary('execute an approved batch')
    .description(
      'Hand in the signed approval and execute the batch. Repeating never executes twice. Exits with 3 when the batch failed.',
    )
    .argument('<batch-id>', 'as init answered it')
    .argument('<signed-tx>', 'proposalApproveTx as flywheel sign returned it')
    .option(
      '--wait <seconds>',
      `how long to wait for the end, 0 to ${MAX_WAIT_SECONDS}`,
      parseWholeNumber(0, MAX_WAIT_SECONDS),
    )
    .option('--url <url>', 'the service, else FLYWHEEL_URL')
    .addHelpText(
      'after',
      '\nExample:\n  flywheel execute 0198a3c2-… "$(flywheel sign --wallet wallet.json < approve.txt)"',
    )
    .action(async (batchId: string, signedTx: string, options: ExecuteOptions) => {
      const client = openClient(context, options);
      const { wait } = options;
      const answer = await client.executeBatch({ batchId, signedTx }, wait === undefined ? {} : { waitSeconds: wait });
      const { output } = context;
      const batch = await client.getBatch(batchId);
      output.result(answer, describeBatch(batch, output.stdout));
      requireExecuted(batch);
    });
}
