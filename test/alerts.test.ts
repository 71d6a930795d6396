import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

/** The program: Debian's package, or the one that PROMTOOL names. */
const PROGRAM = process.env.PROMTOOL ?? 'promtool';
const RULES = fileURLToPath(new URL('../deploy/prometheus/alerts.yaml', import.meta.url));

/** The series of a healthy service, each with its first value and, for a counter, what a minute adds. */
const HEALTHY: Readonly<Record<string, string>> = {
  'flywheel_operator_balance_lamports{instance="work",address="a"}': '50e9',
  'flywheel_database_oldest_query_seconds{instance="serve"}': '0.1',
  'flywheel_database_standbys{instance="serve"}': '2',
  'flywheel_cap_refusals_total{scope="unadmitted",kind="locked"}': '0',
  'flywheel_job_lag_seconds{instance="serve"}': '0',
  'flywheel_batches_in_flight{instance="work",kind="setup"}': '3',
  'flywheel_batches_in_flight_max{instance="work"}': '128',
  'flywheel_job_duration_seconds_count{type="setup",outcome="done"}': '0+9',
  'flywheel_bundles_settled_total{phase="setup",outcome="landed"}': '0+9',
  'flywheel_bundles_settled_total{phase="setup",outcome="lost"}': '0+1',
  'flywheel_open_batches{status="FINALIZED",waits_for="wallet"}': '4',
  'flywheel_refused_to_sign_total{instance="work",reason="undecided"}': '0',
  'flywheel_inits_waiting_for_nonce{instance="serve"}': '0',
  'flywheel_nonces{state="available",share="common"}': '32',
  'flywheel_nonces{state="available",share="own"}': '4',
  'flywheel_partitions_ahead_seconds{instance="work"}': '8e6',
  'flywheel_webhook_lag_seconds{instance="serve"}': '0',
  'flywheel_webhook_attempts_total{outcome="delivered"}': '0+9',
  'flywheel_webhook_attempts_total{outcome="retried"}': '0+1',
  'flywheel_webhook_attempts_total{outcome="exhausted"}': '0',
  'flywheel_http_request_duration_seconds_count{route="a",status="200"}': '0+900',
  'flywheel_http_request_duration_seconds_count{route="a",status="500"}': '0+1',
  'flywheel_http_errors_total{route="a",code="ERR_INTERNAL",status="500"}': '0+1',
  'flywheel_http_request_duration_seconds_count{route="POST /v1/flywheel/batch/init",status="200"}': '0+5',
  'flywheel_state_readable{instance="work",source="cluster"}': '1',
};

interface Case {
  readonly name: string;
  readonly minutes?: number;
  /** Values that differ from `HEALTHY`, one a minute, in promtool's notation. */
  readonly series: Readonly<Record<string, string>>;
  /** True if they are those of the second of two shards, beside a healthy one. */
  readonly isShard?: boolean;
  /** Names of all alerts that are raised at the end. */
  readonly raised: readonly string[];
}

const CASES: readonly Case[] = [
  { name: 'nothing while nothing is wrong', series: {}, raised: [] },
  {
    name: 'the loss of a standby, for most of a day',
    minutes: 1_500,
    series: { 'flywheel_database_standbys{instance="serve"}': '2x500 1x1000' },
    raised: ['FlywheelStandbyLost'],
  },
  {
    name: 'no loss of a standby after a backup, which counts as two while it runs',
    minutes: 1_500,
    series: { 'flywheel_database_standbys{instance="serve"}': '2x500 4x60 2x940' },
    raised: [],
  },
  {
    name: 'the loss of a standby, for more than a day',
    minutes: 1_740,
    series: { 'flywheel_database_standbys{instance="serve"}': '2x240 1x1500' },
    raised: ['FlywheelStandbyLost'],
  },
  {
    name: 'what one of two shards lacks',
    minutes: 500,
    isShard: true,
    series: {
      'flywheel_operator_balance_lamports{instance="work",address="a"}': '1e8x500',
      'flywheel_nonces{state="available",share="common"}': '0x500',
      'flywheel_partitions_ahead_seconds{instance="work"}': '1e6x500',
      'flywheel_database_standbys{instance="serve"}': '2x200 1x300',
    },
    raised: ['FlywheelNoncesLow', 'FlywheelOperatorLow', 'FlywheelPartitionsEnd', 'FlywheelStandbyLost'],
  },
  {
    name: 'a previous operator that still pays and has too little',
    series: { 'flywheel_operator_balance_lamports{instance="work",address="b"}': '1e8x60' },
    raised: ['FlywheelOperatorLow'],
  },
  {
    name: 'that no process of one of two shards is left',
    isShard: true,
    series: {
      'flywheel_inits_waiting_for_nonce{instance="serve"}': '0x40 stale',
      'flywheel_batches_in_flight{instance="work",kind="setup"}': '3x40 stale',
    },
    raised: ['FlywheelServeGone', 'FlywheelWorkGone'],
  },
  {
    name: 'requests of one of two shards that fail, beside many of the other',
    isShard: true,
    series: {
      'flywheel_http_request_duration_seconds_count{route="a",status="200"}': '0+1x60',
      'flywheel_http_errors_total{route="a",code="ERR_INTERNAL",status="500"}': '0+1x60',
    },
    raised: ['FlywheelErrors'],
  },
  {
    name: 'bundles of which none has landed since the start of the worker',
    series: {
      'flywheel_bundles_settled_total{phase="setup",outcome="landed"}': '0x60',
      'flywheel_bundles_settled_total{phase="setup",outcome="lost"}': '0+1x60',
    },
    raised: ['FlywheelBundlesDoNotLand'],
  },
  {
    name: 'the first refusal by the shared cap of a process, and no webhook event that used up its attempts',
    series: {
      'flywheel_webhook_attempts_total{outcome="exhausted"}': '0x50 1x10',
      'flywheel_cap_refusals_total{scope="unadmitted",kind="locked"}': '0x50 1x10',
    },
    raised: ['FlywheelSharedCapFull'],
  },
  {
    name: 'the first decision of a process that no operator has signed',
    series: { 'flywheel_refused_to_sign_total{instance="work",reason="undecided"}': '0x50 1x10' },
    raised: ['FlywheelRefusedToSign'],
  },
  {
    name: 'webhooks that no worker sends, and attempts of which most fail',
    minutes: 120,
    series: {
      'flywheel_webhook_lag_seconds{instance="serve"}': '0x100 600x20',
      'flywheel_webhook_attempts_total{outcome="delivered"}': '0x120',
    },
    raised: ['FlywheelWebhooksFail', 'FlywheelWebhooksNotSent'],
  },
  {
    name: 'that one request in ten fails',
    series: { 'flywheel_http_errors_total{route="a",code="ERR_INTERNAL",status="500"}': '0+90x60' },
    raised: ['FlywheelErrors'],
  },
  {
    name: 'that every init fails, beside many polls that succeed',
    series: {
      'flywheel_http_request_duration_seconds_count{route="a",status="200"}': '0+12000x60',
      'flywheel_http_request_duration_seconds_count{route="POST /v1/flywheel/batch/init",status="200"}': '0x60',
      'flywheel_http_request_duration_seconds_count{route="POST /v1/flywheel/batch/init",status="500"}': '0+60x60',
      'flywheel_http_errors_total{route="POST /v1/flywheel/batch/init",code="ERR_BATCH_INIT_FAILED",status="500"}':
        '0+60x60',
    },
    raised: ['FlywheelBatchRequestsFail'],
  },
  {
    name: 'a slow schema of one project with a ticket alone',
    series: {
      'flywheel_http_request_duration_seconds_count{route="POST /v1/flywheel/batch/init",status="503"}': '0+60x60',
      'flywheel_http_errors_total{route="POST /v1/flywheel/batch/init",code="ERR_SCHEMA_CHECK_UNAVAILABLE",status="503"}':
        '0+60x60',
    },
    raised: ['FlywheelSchemaChecksFail'],
  },
  {
    name: 'no error while the company pauses projects, whose requests are refused with 503',
    series: {
      'flywheel_http_request_duration_seconds_count{route="a",status="503"}': '0+450x60',
      'flywheel_http_errors_total{route="a",code="ERR_PAUSED",status="503"}': '0+450x60',
    },
    raised: [],
  },
  {
    name: 'a pool without a free nonce, beside those of an idle admitted project',
    series: { 'flywheel_nonces{state="available",share="common"}': '0x60' },
    raised: ['FlywheelNoncesLow'],
  },
  {
    name: 'executions that the service holds up, apart from those that wait for a deposit',
    series: {
      'flywheel_open_batches{status="FINALIZED",waits_for="issue"}': '3x60',
      'flywheel_open_batches{status="FINALIZED",waits_for="service"}': '1x60',
    },
    raised: ['FlywheelBatchBlocked', 'FlywheelExecutionHeldUp'],
  },
  {
    name: 'a worker whose places for setups are taken, which are three quarters of its places',
    series: { 'flywheel_batches_in_flight{instance="work",kind="setup"}': '96x60' },
    raised: ['FlywheelWorkerFull'],
  },
  {
    name: 'a single job that fails half a minute after each start, and starts again ten seconds later',
    series: { 'flywheel_job_duration_seconds_count{type="close",outcome="failed"}': '0+1.5x60' },
    raised: ['FlywheelJobsFailing'],
  },
  {
    name: 'that no serve is left, although every work goes on',
    series: { 'flywheel_inits_waiting_for_nonce{instance="serve"}': '0x40 stale' },
    raised: ['FlywheelServeGone'],
  },
  {
    name: 'that no work is left, although no job is due',
    series: { 'flywheel_batches_in_flight{instance="work",kind="setup"}': '3x40 stale' },
    raised: ['FlywheelWorkGone'],
  },
];

const isInstalled = spawnSync(PROGRAM, ['--version']).error === undefined;

describe('the alert rules', { skip: !isInstalled && 'promtool is not installed: apt install prometheus' }, () => {
  for (const { name, minutes = 60, isShard = false, series, raised } of CASES) {
    it(`report ${name}`, async () => {
      const healthy = Object.entries(HEALTHY).map(([key, value]) => [key, `${value}x${minutes}`] as const);
      const changed = new Map([...healthy, ...Object.entries(series)]);
      const values = isShard ? [...inShard('1', healthy), ...inShard('2', changed)] : [...changed];
      const expected = raised.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 }));
      const firing = 'sum by (alertname) (ALERTS{alertstate="firing"})';
      await runTest({
        interval: '1m',
        input_series: values.map(([key, each]) => ({ series: key, values: each })),
        promql_expr_test: [{ expr: firing, eval_time: `${minutes}m`, exp_samples: expected }],
      });
    });
  }
});

/** Adds the label that the scrape configuration of an installation with shards gives. */
function inShard(shard: string, values: Iterable<readonly [string, string]>): (readonly [string, string])[] {
  return Array.from(values, ([key, each]) => [key.replace('}', `,shard="${shard}"}`), each] as const);
}

/** Runs a test of the rules with promtool, which reads YAML and so JSON. @throws Error with what it printed if it fails. */
async function runTest(test: object): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'alerts-'));
  try {
    const file = join(folder, 'test.yaml');
    await writeFile(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests: [test] }));
    assert.doesNotThrow(() => execFileSync(PROGRAM, ['test', 'rules', file], { stdio: 'pipe' }));
  } finally {
    await rm(folder, { recursive: true });
  }
}
