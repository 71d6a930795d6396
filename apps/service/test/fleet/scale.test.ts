import { after, before, describe, it, type TestContext } from 'node:test';
import { createProject, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { askToExecute, initialize, type SoakBatch, VAULT_BASE_UNITS } from '../soak/load.ts';
import { assertExact, awaitRest } from '../soak/soak.ts';
import { type Fleet, openFleet } from './fleet.ts';

/** `npm run soak` raises the numbers to a batch of 1,000 pipelines, and 200 batches of 20 projects. */
const PIPELINES = Number(process.env.FLYWHEEL_SCALE_PIPELINES ?? 150);
const BATCHES = Number(process.env.FLYWHEEL_SCALE_BATCHES ?? 10);
const PROJECTS = Number(process.env.FLYWHEEL_SCALE_PROJECTS ?? 5);
const PIPELINES_PER_BATCH = 10;
/** Enough for the largest numbers on a shared machine of two cores. */
const REST_SECONDS = 1_200;

describe('two serving and three working processes at scale', () => {
  let fleet: Fleet;
  before(async () => {
    fleet = await openFleet({ LOG_LEVEL: 'fatal', NONCE_POOL_SIZE: '50' });
  });
  after(() => fleet.stop());

  it(`execute and close one batch of ${PIPELINES} pipelines`, (test) => run(test, 1, 1, PIPELINES));

  it(`execute and close ${BATCHES} batches of ${PROJECTS} projects, all requested at once`, (test) =>
    run(test, BATCHES, PROJECTS, PIPELINES_PER_BATCH));

  async function run(test: TestContext, batchCount: number, projectCount: number, pipelines: number): Promise<void> {
    const projects = await Promise.all(Array.from({ length: projectCount }, (_, i) => projectAt(doorOf(i))));
    const begin = performance.now();
    const batches = await Promise.all(
      Array.from({ length: batchCount }, async (_, i): Promise<SoakBatch> => {
        const project = projects[i % projectCount] as TestProject; // within, by the remainder
        const { batch, proposalApproveTx } = await initialize(doorOf(i), project, pipelines);
        await askToExecute(doorOf(i + 1), project, batch.id, proposalApproveTx);
        return { ...batch, fate: 'executed' };
      }),
    );
    await awaitRest(doorOf(0), REST_SECONDS);
    const seconds = (performance.now() - begin) / 1_000;
    await assertExact(doorOf(0), { projects, batches });
    const memory = await Promise.all([...fleet.serving, ...fleet.working].map((each) => each.peakMemory()));
    const rate = ((batchCount * pipelines) / seconds).toFixed(1);
    test.diagnostic(`${seconds.toFixed(1)} s from init to rent returned, ${rate} pipelines/s`);
    test.diagnostic(
      `peak memory so far, MiB: serve ${memory.slice(0, 2).join(', ')}; work ${memory.slice(2).join(', ')}`,
    );
  }

  function projectAt(door: World): Promise<TestProject> {
    return createProject(door, { vaultBaseUnits: VAULT_BASE_UNITS, decimals: 6 });
  }

  function doorOf(i: number): World {
    const [first, second] = fleet.addresses;
    return i % 2 === 0 ? first : second;
  }
});
