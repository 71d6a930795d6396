import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { executeSigned, openBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline, getBatch, getCurrent, init, send } from '@flywheel/testing/client';
import { expireHeartbeats } from '@flywheel/testing/jobs';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { sql } from 'kysely';
import { askToExecute, initialize, type SoakBatch, VAULT_BASE_UNITS } from '../soak/load.ts';
import { assertExact, awaitRest } from '../soak/soak.ts';
import { type Fleet, openFleet } from './fleet.ts';

const PROJECTS = 4;
const BATCHES = 12;
const PIPELINES = 30;
const REST_SECONDS = 120;

describe('two serving and three working processes', () => {
  let fleet: Fleet;
  let first: World;
  let second: World;
  before(async () => {
    fleet = await openFleet({ RATE_LIMIT_INIT: '5/60', RATE_LIMIT_EXECUTE: '100/60' });
    [first, second] = fleet.addresses;
  });
  after(() => fleet.stop());

  it('execute every batch once while one worker is killed and another one stops', async () => {
    const projects: TestProject[] = [];
    for (let i = 0; i < PROJECTS; i += 1) {
      projects.push(await createProject(doorOf(i), { vaultBaseUnits: VAULT_BASE_UNITS, decimals: 6 }));
    }
    const batches: SoakBatch[] = [];
    for (let i = 0; i < BATCHES; i += 1) {
      const project = projects[i % PROJECTS] as TestProject; // i % PROJECTS is within
      const { batch, proposalApproveTx } = await initialize(doorOf(i), project, PIPELINES);
      await askToExecute(doorOf(i + 1), project, batch.id, proposalApproveTx);
      batches.push({ ...batch, fate: 'executed' });
    }
    await untilSomeSent(first);
    const [killed, stopped] = fleet.working;
    const held = await heldJobs(first);
    await killed?.kill();
    const beganToStop = performance.now();
    assert.equal(await stopped?.stop(), 0, 'it finishes what it does, or hands it back');
    assert.ok(performance.now() - beganToStop < 20_000);
    // The remaining worker need not wait until the heartbeats expire; live jobs are touched again at once.
    await expireHeartbeats(first, held);
    await awaitRest(first, REST_SECONDS);
    await assertExact(first, { projects, batches });
    const last = batches.at(-1);
    assert.ok(last);
    await waitForBatch(second, last.project, last.id, ({ status }) => status === 'EXECUTED');
  });

  it('share their state: both know what one was asked, and repeat the same answers', async () => {
    const project = await createProject(first);
    const supply = await tokenSupply(first, project.mint);
    const key = randomUUID();
    const pipelines = [burnPipeline(2)];
    const answers = await Promise.all(
      [first, second, first, second].map(({ url }) => init(url, project.apiKey, pipelines, key)),
    );
    const batches = new Set(answers.map((answer) => requireOk(answer).batch.id));
    assert.equal(batches.size, 1, 'one idempotency key, one batch');
    const batch = await openBatch(second, project, pipelines);
    const results = await Promise.all([first, second].map((door) => executeSigned(door, project, batch)));
    assert.deepEqual(...(results.map(requireOk) as [unknown, unknown]));
    assert.equal(requireOk(await getBatch(first.url, project.apiKey, batch.id)).status, 'EXECUTED');
    assert.equal(requireOk(await getCurrent(first.url, project.apiKey)).id, [...batches][0]);
    assert.equal(await tokenSupply(first, project.mint), supply - 2_000_000n);
  });

  it('count a key’s requests together, and reject a key that either has revoked', async () => {
    const project = await createProject(second);
    const statuses: number[] = [];
    for (let i = 0; i < 6; i += 1) {
      statuses.push((await init(doorOf(i).url, project.apiKey, [burnPipeline()])).status);
    }
    assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429]);

    const keys = `/console/api/projects/${project.projectId}/keys`;
    const asked = { headers: { cookie: project.cookie }, body: {} };
    const { keyId, apiKey } = requireOk(await send(first.url, 'POST', keys, asked));
    for (const { url } of fleet.addresses) assert.equal((await getCurrent(url, apiKey)).status, 200);
    requireOk(await send(first.url, 'DELETE', `${keys}/${keyId}`, asked));
    for (const { url } of fleet.addresses) assert.equal((await getCurrent(url, apiKey)).status, 401);
  });

  function doorOf(i: number): World {
    return i % 2 === 0 ? first : second;
  }
});

async function untilSomeSent({ db }: World): Promise<void> {
  const read = () => db.selectFrom('bundles').select('id').where('phase', '=', 'execution').execute();
  await waitUntil('bundles of executions', read, (sent) => sent.length >= 4, { intervalMs: 20 });
}

async function heldJobs({ db }: World): Promise<string[]> {
  const { rows } = await sql<{ readonly id: string }>`select id from jobs.job where state = 'active'`.execute(db);
  return rows.map(({ id }) => id);
}
