import { init } from '@flywheel/testing/client';
import { requireOk } from '@flywheel/testing/project';
import { type Figures, ms, percentile, timeMs } from './figures.ts';
import { makePipelines } from './init.ts';
import { probe } from './schemas.ts';
import { createProjects, openSeparateWorld, type SeparateWorld, untilNonces } from './separate-world.ts';

const PIPELINES = 1_000;
/** A key may send ten such batches in a minute. */
const PROJECTS = 2;
const INITS = 12;
const NONCES = 2 * INITS;
const SECONDS = 10;

/** Measures how much later other requests are answered while one client sends batches of a thousand pipelines without a pause. */
export async function benchLargeInit(): Promise<Figures> {
  const world = await openSeparateWorld({ NONCE_POOL_SIZE: String(NONCES) });
  try {
    return await measure(world);
  } finally {
    await world.stop();
  }
}

async function measure(world: SeparateWorld): Promise<Figures> {
  const projects = await createProjects(world, PROJECTS);
  await untilNonces(world, NONCES);
  await world.stopWork();
  const bodies = await Promise.all(Array.from({ length: INITS }, () => makePipelines(PIPELINES)));
  const idle = await probe(world.url, SECONDS);
  const took: number[] = [];
  const probing = probe(world.url, SECONDS);
  for (const [index, body] of bodies.entries()) {
    const { apiKey = '' } = projects[index % PROJECTS] ?? {};
    took.push(await timeMs(async () => requireOk(await init(world.url, apiKey, body))));
  }
  const beside = await probing;
  const later = percentile(beside, 0.99) - percentile(idle, 0.99);
  return {
    title: `/health/live beside ${INITS} inits of ${PIPELINES} pipelines, asked every 10 ms for ${SECONDS} s`,
    note: 'Serve, clients and PostgreSQL are processes of one machine; no worker runs.',
    rows: [
      ['init, p50', ms(percentile(took, 0.5))],
      ['all inits', ms(took.reduce((sum, each) => sum + each, 0))],
      ['idle, p50 and p99', `${ms(percentile(idle, 0.5))}, ${ms(percentile(idle, 0.99))}`],
      ['beside inits, p50 and p99', `${ms(percentile(beside, 0.5))}, ${ms(percentile(beside, 0.99))}`],
      ['later at p99', ms(later)],
    ],
  };
}
