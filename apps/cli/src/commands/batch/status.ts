import type { BatchEvent } from '@flywheel/api';
import type { FlywheelClient } from '@flywheel/sdk';
import type { Command } from 'commander';
import { type Context, openClient, type UrlOption } from '../../context.ts';
import { interruptible } from '../../interrupt.ts';
import { addBatchArgument, addUrlOption } from '../../options.ts';
import type { Output } from '../../output.ts';
import { openStepDisplay } from '../../progress.ts';
import { describeBatch, requireNotFailed } from './describe-batch.ts';
import { describeEvent, isEnd, readTimeline } from './timeline.ts';

interface StatusOptions extends UrlOption {
  readonly watch?: boolean;
}

/** `flywheel status BATCH_ID [--watch]` */
export function addStatusCommand(program: Command, context: Context): void {
  const command = addBatchArgument(program.command('status'))
    .summary('show a batch, or follow it until it ends')
    .description(
      'Show a batch. With --watch, follow it until it ends: live steps on a terminal, otherwise a line per event. With --watch it exits with 3 if the batch failed.',
    )
    .option('--watch', 'follow the batch until it ends');
  addUrlOption(command)
    .addHelpText('after', '\nExample:\n  flywheel status 0198a3c2-… --watch')
    .action(async (batchId: string, { watch = false, ...options }: StatusOptions) => {
      const client = openClient(context, options);
      const { output } = context;
      if (watch) await interruptible((signal) => watchBatch(client, batchId, { output, signal }), CONTINUES);
      const batch = await client.getBatch(batchId);
      output.result(batch, describeBatch(batch, output.stdout));
      if (watch) requireNotFailed(batch);
    });
}

const CONTINUES = 'The batch continues without this command.';

/** Shows every event of a batch until its end: as live steps on a terminal, otherwise as a line per event. */
async function watchBatch(
  client: FlywheelClient,
  batchId: string,
  { output, signal }: { readonly output: Output; readonly signal: AbortSignal },
): Promise<void> {
  const events: BatchEvent[] = [];
  const display = output.terminal === null ? null : await openStepDisplay(output);
  try {
    for await (const event of client.streamBatchEvents(batchId, { signal })) {
      events.push(event);
      if (display) display.update(readTimeline(events));
      else output.note(describeEvent(event));
      if (isEnd(event)) return;
    }
  } finally {
    display?.close();
  }
}
