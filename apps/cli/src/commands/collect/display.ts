import { groupDigits, pluralize } from '@flywheel/protocol';
import type { Collector, CollectorAlarm, CollectorMetrics, SignedBatch } from '@flywheel/sdk/collector';
import type { Output } from '../../output.ts';
import type { ProgressBar } from '../../progress.ts';

/** Prints what a person should know above the bar. */
export function noteAlarm(bar: ProgressBar, alarm: CollectorAlarm): void {
  switch (alarm.kind) {
    case 'quarantined':
      for (const { id, reason } of alarm.items) {
        bar.note(`Quarantined ${id}: ${reason?.code} ${reason?.message} Decide with --requeue or --drop.`);
      }
      break;
    case 'waiting':
      bar.note(`Waiting: ${alarm.code} ${alarm.message}`);
      break;
    case 'approvalNeeded':
      bar.note(`Batch ${alarm.batchId} waits for an approval.`);
      break;
    case 'invalid':
      bar.note(`No event: ${alarm.message}`);
      break;
    case 'stopped':
      break;
    default:
      alarm satisfies never;
  }
}

/** Says what the chain shows of a batch that the service has forgotten. */
export function describeSigned({ batchId, batchIndex, multisig, state, paid, unpaid }: SignedBatch): string {
  const events = `${groupDigits(String(paid))} of ${pluralize(paid + unpaid, 'event')} paid`;
  const rest = {
    over: unpaid === 0 ? '' : ' The others are pending again.',
    executable: ` Squads could still execute the rest until proposal ${batchIndex} of the multisig ${multisig} is over. The wallet alone can reject an active one; an approved one needs the cancel votes of the wallet and of the company: ask the company. Then run this command again.`,
  };
  return `Batch ${batchId}: ${events} on chain.${rest[state]}`;
}

const LIVE_INTERVAL_MS = 200;
/** A line in a log; the bar prints one only when its text has changed. */
const LOG_INTERVAL_MS = 5_000;

/** Shows the numbers of a collector while it works. @returns a function that shows the last state and ends the display. */
export function showMetrics(collector: Collector, bar: ProgressBar, { terminal }: Output): () => void {
  const show = () => {
    const metrics = collector.metrics();
    if (metrics.accepted > 0) bar.show(1 - metrics.pending / metrics.accepted, describeMetrics(metrics));
  };
  const timer = setInterval(show, terminal ? LIVE_INTERVAL_MS : LOG_INTERVAL_MS);
  return () => {
    clearInterval(timer);
    show();
  };
}

function describeMetrics({ accepted, paid, pending, quarantined, dropped, openBatches }: CollectorMetrics): string {
  return [
    `${groupDigits(String(paid))} of ${pluralize(accepted, 'event')} paid`,
    ...(pending > 0
      ? [`${groupDigits(String(pending))} pending in ${pluralize(openBatches, 'open batch', 'open batches')}`]
      : []),
    ...(quarantined > 0 ? [`${groupDigits(String(quarantined))} quarantined`] : []),
    ...(dropped > 0 ? [`${groupDigits(String(dropped))} dropped`] : []),
  ].join(', ');
}
