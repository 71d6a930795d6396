import { randomInt } from 'node:crypto';
import { it } from 'node:test';
import { soakFaults } from './faults.ts';
import { seededRandom } from './random.ts';

/** `npm run soak` widens it. */
const BATCHES = Number(process.env.FLYWHEEL_SOAK_BATCHES ?? 3);
const SEED = Number(process.env.FLYWHEEL_SOAK_SEED ?? randomInt(2 ** 31));

it(`moves every token of ${BATCHES} batches exactly once on a cluster that misbehaves`, async (test) => {
  test.diagnostic(`seed ${SEED}`);
  const projects = Math.min(10, Math.ceil(BATCHES / 2));
  const count = await soakFaults({ projects, batches: BATCHES, pipelinesPerBatch: 8, random: seededRandom(SEED) });
  test.diagnostic(`${count} faults`);
});
