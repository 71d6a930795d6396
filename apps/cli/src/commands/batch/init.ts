import type { Command } from 'commander';
import { type Context, openClient, type UrlOption } from '../../context.ts';
import { readRequestFile } from '../../request-file.ts';

interface InitOptions extends UrlOption {
  readonly idempotencyKey?: string;
}

/** `flywheel init FILE`: prints init’s answer as it came. */
export function addInitCommand(program: Command, context: Context): void {
  program
    .command('init')
    .summary('compile pipelines into a batch to approve')
    .description('Send the init request in FILE and print the answer: the batch, and proposalApproveTx to sign.')
    .argument('<file>', 'init request as JSON: {"pipelines": [...]}')
    .option('--idempotency-key <uuid>', 'repeat with the same key to get the same batch; a fresh one by default')
    .option('--url <url>', 'the service, else FLYWHEEL_URL')
    .addHelpText('after', '\nExample:\n  flywheel init examples/rewards.json > batch.json')
    .action(async (file: string, options: InitOptions) => {
      const client = openClient(context, options);
      const requestText = await readRequestFile(file);
      const { idempotencyKey } = options;
      const answer = await client.initBatch(requestText, idempotencyKey === undefined ? {} : { idempotencyKey });
      context.output.result(answer, JSON.stringify(answer, null, 2));
    });
}
