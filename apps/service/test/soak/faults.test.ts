import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { it } from 'node:test';
import { seededRandom } from '@flywheel/localnet';
import { KNOBS, soakFaults } from './faults.ts';

/** Number of batches; `npm run soak` raises it. */
const BATCHES = Number(process.env.FLYWHEEL_SOAK_BATCHES ?? 3);
const SEED = Number(process.env.FLYWHEEL_SOAK_SEED ?? randomInt(2 ** 31));
/** A slice has a cluster and a database of its own, so that its seed alone repeats what it found. */
const SLICE_BATCHES = 25;

for (let slice = 0; slice * SLICE_BATCHES < BATCHES; slice += 1) {
  const batches = Math.min(SLICE_BATCHES, BATCHES - slice * SLICE_BATCHES);
  const seed = (SEED + slice) % 2 ** 31;
  const hasBlockEngine = seed % 2 === 0;
  const by = hasBlockEngine ? 'with the block engine' : 'over RPC in order';
  it(`the service moves every token of ${batches} batches exactly once while faults are injected, ${by}`, async (test) => {
    test.diagnostic(`seed ${seed}`);
    const projects = Math.min(10, Math.ceil(batches / 2));
    const random = seededRandom(seed);
    const began = Date.now();
    const { turned, modelCheck } = await soakFaults({
      projects,
      batches,
      pipelinesPerBatch: 8,
      hasBlockEngine,
      random,
    });
    test.diagnostic(`${Math.round((Date.now() - began) / 1_000)} s; ${JSON.stringify(Object.fromEntries(turned))}`);
    test.diagnostic(modelCheck);
    for (const knob of KNOBS) assert.ok(turned.get(knob), `${knob} was never turned`);
  });
}
