import { setTimeout as sleep } from 'node:timers/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** The metrics of one process, by Prometheus' conventions. `app` creates them and passes them to whatever counts. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Creates the metrics of this process, together with those that prom-client collects of Node. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const batchesInFlight = (count: (kind: 'setup' | 'execution') => number, maxBatches: number) => {
    const inFlight: Gauge<'kind'> = new Gauge({
      name: 'flywheel_batches_in_flight',
      help: 'Batches that this worker works on: those that it sets up, and the others.',
      labelNames: ['kind'],
      collect: () => {
        for (const kind of ['setup', 'execution'] as const) inFlight.set({ kind }, count(kind));
      },
      registers,
    });
    const max = new Gauge({
      name: 'flywheel_batches_in_flight_max',
      help: 'Batches that this worker works on at most, of both kinds together.',
      registers,
    });
    max.set(maxBatches);
  };
  return {
    registry,

    /** Adds the gauge of a process's waiting inits, which reads the process's own count. */
    observeWaitingInits: (count: () => number) => {
      const waiting: Gauge = new Gauge({
        name: 'flywheel_inits_waiting_for_nonce',
        help: 'Inits of this process that wait for a durable nonce.',
        collect: () => waiting.set(count()),
        registers,
      });
    },

    /** Adds the gauge of a process's oldest query, which grows while the database does not answer. */
    observeOldestQuery: (seconds: () => number) => {
      const oldest: Gauge = new Gauge({
        name: 'flywheel_database_oldest_query_seconds',
        help: 'Time for which the oldest query of this process has been running.',
        collect: () => oldest.set(seconds()),
        registers,
      });
    },

    /** Adds the gauge of what waits for a connection of this process, which grows while its pools are used up. */
    observeWaitingQueries: (count: () => number) => {
      const waiting: Gauge = new Gauge({
        name: 'flywheel_database_queries_waiting',
        help: 'Queries and transactions of this process that wait for a connection.',
        collect: () => waiting.set(count()),
        registers,
      });
    },

    /** Adds the gauges of a worker's batches, which read the worker's own counts, and of their maximum. */
    observeBatchesInFlight: batchesInFlight,

    /** Labelled by the route's pattern, because a label per path would be a time series per batch. */
    requestSeconds: new Histogram({
      name: 'flywheel_http_request_duration_seconds',
      help: 'Time to answer a request, by route and status.',
      labelNames: ['route', 'status'],
      // An execute waits for up to two minutes.
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
      registers,
    }),

    httpErrors: new Counter({
      name: 'flywheel_http_errors_total',
      help: 'Requests that were answered with an error, by their route, its code and status.',
      labelNames: ['route', 'code', 'status'],
      registers,
    }),

    /** The landing rate is landed / all. */
    bundlesSettled: fromZero(
      new Counter({
        name: 'flywheel_bundles_settled_total',
        help: 'Bundles with a known outcome: landed, failed on chain, or lost.',
        labelNames: ['phase', 'outcome'],
        registers,
      }),
      { phase: PHASES, outcome: ['landed', 'failed', 'lost'] },
    ),

    bundleSeconds: new Histogram({
      name: 'flywheel_bundle_landing_duration_seconds',
      help: 'Time from sending a bundle to knowing its outcome.',
      labelNames: ['phase', 'outcome'],
      buckets: [0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120],
      registers,
    }),

    tipLamports: fromZero(
      new Counter({
        name: 'flywheel_bundle_tips_lamports_total',
        help: 'Tips paid by the bundles that landed.',
        labelNames: ['phase'],
        registers,
      }),
      { phase: PHASES },
    ),

    capRefusals: fromZero(
      new Counter({
        name: 'flywheel_cap_refusals_total',
        help: 'Requests that a cap refused, by its holder and kind.',
        labelNames: ['scope', 'kind'],
        registers,
      }),
      {
        scope: ['project', 'key', 'unadmitted'],
        kind: ['locked', 'spent', 'batches', 'pipelines', 'burn', 'airdrop'],
      },
    ),

    webhookAttempts: fromZero(
      new Counter({
        name: 'flywheel_webhook_attempts_total',
        help: 'Webhook delivery attempts: delivered, retried later, exhausted (no retry left), or gone (410).',
        labelNames: ['outcome'],
        registers,
      }),
      { outcome: ['delivered', 'retried', 'exhausted', 'gone'] },
    ),

    refusedToSign: fromZero(
      new Counter({
        name: 'flywheel_refused_to_sign_total',
        help: 'Batches that were not signed, and changes that were not applied, because no client or operator can have made them.',
        labelNames: ['reason'],
        registers,
      }),
      { reason: ['mismatched', 'uncompiled', 'undecided', 'change'] },
    ),

    partitionsNotDropped: fromZero(
      new Counter({
        name: 'flywheel_partitions_not_dropped_total',
        help: 'Attempts to drop old partitions that ended because a transaction used the table.',
        labelNames: ['table'],
        registers,
      }),
      { table: ['batch_events', 'webhook_deliveries'] },
    ),

    jobSeconds: new Histogram({
      name: 'flywheel_job_duration_seconds',
      help: 'Duration of job runs. A failed job runs again.',
      labelNames: ['type', 'outcome'],
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900],
      registers,
    }),
  };
}

const PHASES = ['setup', 'execution', 'close'] as const;

/**
 * Begins each series of a counter at 0. In a series that begins with its first event Prometheus sees no increase, and a rate
 * whose part has no series has no share of the whole: an alert about the first failure of a process would not be raised.
 */
function fromZero<Labelled extends Counter>(
  counter: Labelled,
  values: Readonly<Record<string, readonly string[]>>,
): Labelled {
  const series = Object.entries(values).reduce<Record<string, string>[]>(
    (labels, [name, each]) => labels.flatMap((others) => each.map((value) => ({ ...others, [name]: value }))),
    [{}],
  );
  for (const labels of series) counter.inc(labels, 0);
  return counter;
}

/** State that all processes share through the database. */
export interface ServiceState {
  readonly openBatches: readonly {
    readonly status: string;
    /**
     * The reason for which the batch has not ended: `issue` is one of the project, or a rule of the company, that keeps it
     * from being executed; `service` an error of the service or the cluster that does.
     */
    readonly waitsFor: 'setup' | 'wallet' | 'company' | 'execution' | 'issue' | 'service' | 'pause';
    readonly count: number;
    /** Age of the oldest one in seconds. */
    readonly oldestSeconds: number;
  }[];
  readonly jobs: readonly { readonly state: 'waiting' | 'running' | 'failed'; readonly count: number }[];
  /** Seconds by which the most overdue job is overdue that does not wait for its turn behind another one; 0 when none is. */
  readonly jobLagSeconds: number;
  /** Nonces of the present operator: those that all projects share, and those of admitted projects alone. */
  readonly nonces: readonly { readonly state: string; readonly share: 'common' | 'own'; readonly count: number }[];
  /** Seconds for which events and deliveries have partitions; without one, batches cannot change. */
  readonly partitionsAheadSeconds: number;
  /** Standbys that are connected to the primary. */
  readonly standbys: number;
  /** Seconds for which a due webhook has waited without an attempt at its endpoint; 0 if none is due. */
  readonly webhookLagSeconds: number;
  /** Lamports of the operator that batches take, of admitted projects and of all others. */
  readonly exposure: readonly {
    readonly projects: 'admitted' | 'unadmitted';
    readonly lockedLamports: bigint;
    /** Fees and tips of the UTC day, and what unclosed batches may still spend. */
    readonly spentLamports: bigint;
  }[];
}

export interface OperatorBalance {
  readonly address: string;
  readonly lamports: bigint;
}

export interface MetricsSources {
  readonly metrics: Metrics;
  readonly readServiceState: () => Promise<ServiceState>;
  /** Reads the balance of each key that pays. */
  readonly readOperatorBalances: () => Promise<readonly OperatorBalance[]>;
  readonly log: { warn(fields: object, message: string): void };
}

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/**
 * Renders this process's metrics and the shared state, read now, as Prometheus text. Every process reports the same
 * shared state: aggregate it with `max`, not `sum`. A source that cannot be read within three seconds is omitted, and
 * `flywheel_state_readable` is then 0 for it.
 */
export async function renderMetrics(sources: MetricsSources): Promise<string> {
  const shared = new Registry();
  const readable = gauge(shared, 'flywheel_state_readable', '1 if the shared state could be read.', ['source']);
  const read = async (source: string, collect: () => Promise<void>) => {
    try {
      await Promise.race([collect(), failLate()]);
      readable.set({ source }, 1);
    } catch (error) {
      sources.log.warn({ err: error, source }, 'metrics source cannot be read');
      readable.set({ source }, 0);
    }
  };
  await Promise.all([
    read('database', async () => collectServiceState(shared, await sources.readServiceState())),
    read('cluster', async () => collectBalances(shared, await sources.readOperatorBalances())),
  ]);
  return `${await sources.metrics.registry.metrics()}\n${await shared.metrics()}`;
}

/** Prometheus gives up after ten seconds. The metrics of the process itself need no answer of a source. */
const SOURCE_TIMEOUT_MS = 3_000;

async function failLate(): Promise<never> {
  await sleep(SOURCE_TIMEOUT_MS, undefined, { ref: false });
  throw new Error(`There was no answer within ${SOURCE_TIMEOUT_MS} ms.`);
}

function collectServiceState(
  shared: Registry,
  {
    openBatches,
    jobs,
    jobLagSeconds,
    nonces,
    partitionsAheadSeconds,
    standbys,
    webhookLagSeconds,
    exposure,
  }: ServiceState,
): void {
  const labels = ['status', 'waits_for'];
  const batches = gauge(shared, 'flywheel_open_batches', 'Batches that have not ended.', labels);
  const ages = gauge(shared, 'flywheel_oldest_open_batch_age_seconds', 'Age of the oldest open batch.', labels);
  for (const { status, waitsFor, count, oldestSeconds } of openBatches) {
    batches.set({ status, waits_for: waitsFor }, count);
    ages.set({ status, waits_for: waitsFor }, oldestSeconds);
  }
  const jobCounts = gauge(shared, 'flywheel_jobs', 'Jobs that have not completed.', ['state']);
  for (const each of jobs) jobCounts.set({ state: each.state }, each.count);
  gauge(
    shared,
    'flywheel_job_lag_seconds',
    'Time since the most overdue job was due that is not behind a running one.',
  ).set(jobLagSeconds);
  const nonceHelp =
    'Durable nonces of the operator: those that all projects share, and those of admitted projects alone.';
  const nonceCounts = gauge(shared, 'flywheel_nonces', nonceHelp, ['state', 'share']);
  for (const { state, share, count } of nonces) nonceCounts.set({ state, share }, count);
  const aheadHelp = 'Time for which events and deliveries have partitions.';
  gauge(shared, 'flywheel_partitions_ahead_seconds', aheadHelp).set(partitionsAheadSeconds);
  gauge(shared, 'flywheel_database_standbys', 'Standbys that are connected to the primary.').set(standbys);
  const webhookHelp = 'Time for which a webhook has been due without an attempt at its endpoint.';
  gauge(shared, 'flywheel_webhook_lag_seconds', webhookHelp).set(webhookLagSeconds);
  const locked = gauge(shared, 'flywheel_locked_lamports', 'Rent of batches that are not closed.', ['projects']);
  const spentHelp = 'Fees and tips of the UTC day, and what unclosed batches may still spend.';
  const spent = gauge(shared, 'flywheel_spent_today_lamports', spentHelp, ['projects']);
  for (const { projects, lockedLamports, spentLamports } of exposure) {
    locked.set({ projects }, Number(lockedLamports));
    spent.set({ projects }, Number(spentLamports));
  }
}

function collectBalances(shared: Registry, balances: readonly OperatorBalance[]): void {
  const help = 'Balance for fees, tips and rent of the operator, and of a previous one that projects still have.';
  const balance = gauge(shared, 'flywheel_operator_balance_lamports', help, ['address']);
  // A sample is a double: exact up to nine million SOL.
  for (const { address, lamports } of balances) balance.set({ address }, Number(lamports));
}

function gauge(registry: Registry, name: string, help: string, labelNames: readonly string[] = []): Gauge {
  return new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] });
}
