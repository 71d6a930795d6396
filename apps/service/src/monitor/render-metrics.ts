import type { Address } from '@solana/kit';
import type { Logger } from 'pino';
import { Gauge, Registry } from 'prom-client';
import type { Clock } from '../model/clock.ts';
import type { Chain } from '../solana/chain.ts';
import type { Db } from '../store/db.ts';
import { readServiceState } from '../store/service-state.ts';
import { registry } from '../telemetry/metrics.ts';

export interface MetricsDeps {
  readonly db: Db;
  readonly chain: Pick<Chain, 'accounts'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  readonly operator: Address;
}

/**
 * Prometheus' text: what this process did, and the state that all processes share, read now. Every process tells the
 * same state: aggregate it with `max`, not `sum`. A part that cannot be read is left out, and
 * `flywheel_state_readable` says so.
 */
export async function renderMetrics(deps: MetricsDeps): Promise<string> {
  const state = new Registry();
  const readable = gauge(state, 'flywheel_state_readable', 'Whether what follows could be read.', ['source']);
  const read = async (source: string, collect: () => Promise<void>) => {
    try {
      await collect();
      readable.set({ source }, 1);
    } catch (error) {
      deps.log.warn({ err: error, source }, 'metrics not readable');
      readable.set({ source }, 0);
    }
  };
  await Promise.all([
    read('database', () => collectState(state, deps)),
    read('cluster', () => collectBalance(state, deps)),
  ]);
  return `${await registry.metrics()}\n${await state.metrics()}`;
}

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

async function collectState(state: Registry, { db, clock }: MetricsDeps): Promise<void> {
  const { openBatches, jobs, jobLagSeconds, nonces } = await readServiceState(db, clock.now());
  const labels = ['status', 'waits_for'];
  const batches = gauge(state, 'flywheel_open_batches', 'Batches that have not ended.', labels);
  const ages = gauge(state, 'flywheel_oldest_open_batch_age_seconds', 'Age of the oldest of them.', labels);
  for (const { status, waitsFor, count, oldestSeconds } of openBatches) {
    batches.set({ status, waits_for: waitsFor }, count);
    ages.set({ status, waits_for: waitsFor }, oldestSeconds);
  }
  const jobCounts = gauge(state, 'flywheel_jobs', 'Jobs that have not ended well.', ['state']);
  for (const each of jobs) jobCounts.set({ state: each.state }, each.count);
  gauge(state, 'flywheel_job_lag_seconds', 'How long the job that is due longest has been due.').set(jobLagSeconds);
  const nonceCounts = gauge(state, 'flywheel_nonces', 'Durable nonces of the pool.', ['state']);
  for (const each of nonces) nonceCounts.set({ state: each.state }, each.count);
}

async function collectBalance(state: Registry, { chain, operator }: MetricsDeps): Promise<void> {
  const [account] = await chain.accounts([operator]);
  const balance = gauge(state, 'flywheel_operator_balance_lamports', 'For fees, tips and rent.');
  // A sample is a double: exact up to nine million SOL.
  balance.set(Number(account?.lamports ?? 0n));
}

function gauge(state: Registry, name: string, help: string, labelNames: readonly string[] = []): Gauge {
  return new Gauge({ name, help, labelNames: [...labelNames], registers: [state] });
}
