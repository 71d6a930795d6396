import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';

/** What this process has done, in Prometheus' terms. The state that processes share is read by the monitor. */
export const registry = new Registry();
collectDefaultMetrics({ register: registry });

const registers = [registry];

/** Every request, by its route's pattern: a path of its own would be a label of its own. */
export const requestSeconds = new Histogram({
  name: 'flywheel_http_request_duration_seconds',
  help: 'Time to answer a request, by route and status.',
  labelNames: ['route', 'status'],
  // execute waits for up to two minutes.
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
  registers,
});

/** The bundle landing rate is landed / all. */
export const bundlesSettled = new Counter({
  name: 'flywheel_bundles_settled_total',
  help: 'Bundles whose fate the chain has told: landed whole, failed on chain, or lost.',
  labelNames: ['phase', 'outcome'],
  registers,
});

export const bundleSeconds = new Histogram({
  name: 'flywheel_bundle_landing_duration_seconds',
  help: 'From sending a bundle to knowing its fate.',
  labelNames: ['phase', 'outcome'],
  buckets: [0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120],
  registers,
});

export const tipLamports = new Counter({
  name: 'flywheel_bundle_tips_lamports_total',
  help: 'Tips of the bundles that landed.',
  labelNames: ['phase'],
  registers,
});

export const webhookAttempts = new Counter({
  name: 'flywheel_webhook_attempts_total',
  help: 'Attempts to deliver an event: delivered, refused and to be made again, given up, or told to send no more.',
  labelNames: ['outcome'],
  registers,
});

export const jobSeconds = new Histogram({
  name: 'flywheel_job_duration_seconds',
  help: 'Runs of jobs; one that failed runs again.',
  labelNames: ['type', 'outcome'],
  buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900],
  registers,
});
