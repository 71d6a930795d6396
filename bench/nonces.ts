import { setTimeout as sleep } from 'node:timers/promises';
import { insertAdmission } from '@flywheel/service/internal/store/company/changes.ts';
import { burnPipeline, init } from '@flywheel/testing/client';
import { requireOk, type TestProject } from '@flywheel/testing/project';
import { address } from '@solana/kit';
import { type Figures, ms, percentile, timeMs } from './figures.ts';
import { createProjects, openSeparateWorld, type SeparateWorld } from './separate-world.ts';

const STRANGERS = 100;
/** Nonces that all projects share. */
const SHARED_NONCES = 200;
const SAMPLES = 100;
/** A hundred inits a minute, as ten keys may send. */
const INTERVAL_MS = 600;
/** The share of the admitted project is created meanwhile. */
const WARM_UP_MS = 5_000;

/**
 * Measures inits of an admitted project while 100 others hold every nonce that all share, and each asks on for more, so
 * that a hundred inits wait at any time.
 */
export async function benchNonces(): Promise<Figures> {
  const world = await openSeparateWorld({
    NONCE_POOL_SIZE: '32',
    NONCE_POOL_MAX: String(SHARED_NONCES),
    LOG_LEVEL: 'fatal',
  });
  try {
    return await measure(world);
  } finally {
    await world.stop();
  }
}

async function measure(world: SeparateWorld): Promise<Figures> {
  const [admitted, ...strangers] = await createProjects(world, STRANGERS + 1);
  if (!admitted) throw new Error('Projects were created.');
  const statuses = new Map<number, number>();
  let isOver = false;
  const asking = strangers.map(async ({ apiKey }) => {
    while (!isOver) {
      const { status } = await init(world.url, apiKey, [burnPipeline()]);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  while (!statuses.has(503)) await sleep(100);
  await insertAdmission(world.db, address(admitted.multisig), new Date());
  await sleep(WARM_UP_MS);
  const sample = await timeInits(world, admitted);
  isOver = true;
  await Promise.all(asking);
  return {
    title: `init of an admitted project beside ${STRANGERS} that hold ${SHARED_NONCES} nonces, ${SAMPLES} requests, one each ${INTERVAL_MS} ms`,
    note: `The others were answered ${[...statuses].map(([status, count]) => `${status}: ${count}`).join(', ')}. Serve, work and cluster with clients are processes of one machine.`,
    rows: [
      ['p50', ms(percentile(sample, 0.5))],
      ['p99', ms(percentile(sample, 0.99))],
      ['max', ms(Math.max(...sample))],
    ],
  };
}

/** Sends a request in each interval, whether the earlier ones are answered or not. */
function timeInits({ url }: SeparateWorld, { apiKey }: TestProject): Promise<number[]> {
  return Promise.all(
    Array.from({ length: SAMPLES }, async (_, i) => {
      await sleep(i * INTERVAL_MS);
      return timeMs(async () => requireOk(await init(url, apiKey, [burnPipeline()])));
    }),
  );
}
