import type { CollectorMetrics } from './collector.ts';

/**
 * Writes the metrics of a collector in the text format of Prometheus (version 0.0.4), for your `/metrics`: the items by
 * state, all accepted items, the open batches, and 1 while a batch waits.
 *
 * @example
 * response.setHeader('content-type', 'text/plain; version=0.0.4').end(formatPrometheus(collector.metrics()));
 */
export function formatPrometheus(metrics: CollectorMetrics): string {
  const { accepted, openBatches, waitingFor } = metrics;
  const states = ['pending', 'paid', 'quarantined', 'dropped'] as const;
  const code = waitingFor === null ? '' : waitingFor.kind === 'waiting' ? waitingFor.code : 'APPROVAL_NEEDED';
  return [
    '# HELP flywheel_collector_accepted_total Items that were accepted.',
    '# TYPE flywheel_collector_accepted_total counter',
    `flywheel_collector_accepted_total ${accepted}`,
    '# HELP flywheel_collector_items Items by state; quarantined ones wait for a person.',
    '# TYPE flywheel_collector_items gauge',
    ...states.map((state) => `flywheel_collector_items{state="${state}"} ${metrics[state]}`),
    '# HELP flywheel_collector_open_batches Batches that are not executed yet.',
    '# TYPE flywheel_collector_open_batches gauge',
    `flywheel_collector_open_batches ${openBatches}`,
    '# HELP flywheel_collector_waiting 1 while a batch waits for the cause that the code names.',
    '# TYPE flywheel_collector_waiting gauge',
    ...(code === '' ? ['flywheel_collector_waiting 0'] : [`flywheel_collector_waiting{code="${labelOf(code)}"} 1`]),
    '',
  ].join('\n');
}

/** A code of a newer service must not end the label. */
function labelOf(code: string): string {
  return code.replaceAll(/[^A-Z0-9_]/g, '_');
}
