import { randomInt } from 'node:crypto';
import { it } from 'node:test';
import { soakKills } from './kill.ts';
import { seededRandom } from './random.ts';

/** `npm run soak` widens it. */
const KILLS = Number(process.env.FLYWHEEL_SOAK_KILLS ?? 6);
const SEED = Number(process.env.FLYWHEEL_SOAK_SEED ?? randomInt(2 ** 31));

it(`moves every token exactly once over ${KILLS} killed workers`, async (test) => {
  test.diagnostic(`seed ${SEED}`);
  const batches = Math.max(8, Math.ceil(KILLS / 2));
  await soakKills({ workers: 3, kills: KILLS, projects: 4, batches, pipelinesPerBatch: 8, random: seededRandom(SEED) });
});
