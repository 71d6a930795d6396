/**
 * A worker process, for tests that kill it: it takes the job and never ends it. Its one line on stdout says that the
 * job has begun.
 */

import { quietLog } from '@flywheel/testing/postgres';
import { startJobs } from '../../src/store/jobs/jobs.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

const jobs = await startJobs({
  poolConfig: JSON.parse(process.argv[2] ?? ''),
  log: quietLog,
  metrics: createMetrics(),
});
await jobs.work(
  async (job) => {
    process.stdout.write(`${JSON.stringify(job)}\n`);
    await new Promise(() => undefined);
  },
  { maxBatches: 16 },
);
