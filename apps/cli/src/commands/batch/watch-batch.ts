import type { BatchEvent } from '@flywheel/api';
import type { FlywheelClient } from '@flywheel/sdk';
import { createLiveDisplay } from '../../live-display.ts';
import type { Output } from '../../output.ts';
import { describeEvent, isEnd, readTimeline } from './timeline.ts';

/**
 * Shows a batch from its beginning to its end, event by event: a picture of its steps on a terminal, else a line per
 * event; with `--json` only on a terminal.
 */
export async function watchBatch(
  client: FlywheelClient,
  batchId: string,
  { output, signal }: { readonly output: Output; readonly signal: AbortSignal },
): Promise<void> {
  const events: BatchEvent[] = [];
  const display = output.terminal === null ? null : createLiveDisplay(output.terminal);
  try {
    for await (const event of client.streamBatchEvents(batchId, { signal })) {
      events.push(event);
      if (display) display.update(readTimeline(events), 0);
      else output.note(describeEvent(event));
      if (isEnd(event)) return;
    }
  } finally {
    display?.close(readTimeline(events));
  }
}
