import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { executeSigned, setUpBatch, waitForBatch } from '@flywheel/testing/batches';
import { tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline } from '@flywheel/testing/client';
import { WITH_BUNDLES } from '@flywheel/testing/cluster';
import { type GatedWorld, openGatedWorld } from '@flywheel/testing/gate';
import { expireHeartbeats, findJobIds } from '@flywheel/testing/jobs';
import { requireOk } from '@flywheel/testing/project';
import { type ServiceProcess, startServiceProcess } from '@flywheel/testing/service-process';
import type { Role } from '../../src/app.ts';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { approve, createManualProject, type Operator, openCompanyWorld } from './operators.ts';

const HTTP_ONLY: ReadonlySet<Role> = new Set(['http']);

let world: GatedWorld;
let operator: Operator;
const workers: ServiceProcess[] = [];
before(async () => {
  const opened = await openCompanyWorld({}, (environment) => openGatedWorld(environment, { roles: HTTP_ONLY }));
  world = opened.world;
  [operator] = opened.operators;
});
after(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await world.stop();
});

it(
  'a batch that an operator approved is executed once, whenever workers are killed between approval and end',
  WITH_BUNDLES,
  async () => {
    const first = await startWorker();
    const project = await createManualProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline(), burnPipeline()]);
    const supply = await tokenSupply(world, project.mint);
    assert.equal((await executeSigned(world, project, batch)).status, 202);
    await first.kill();
    requireOk(await approve(world, operator, batch.id));
    assert.deepEqual(await findBundles(world.db, batch.id, 'execution'), []);

    const reached = Promise.withResolvers<void>();
    world.gate.intercept('sendBundle', async (_call, pass) => {
      const answer = await pass();
      reached.resolve();
      // The request has arrived; its sender never receives the answer.
      await new Promise(() => undefined);
      return answer;
    });
    const second = await startWorker();
    await reached.promise;
    await second.kill();
    world.gate.clear();

    await startWorker();
    await expireHeartbeats(world, await findJobIds(world, 'execute', batch.id));
    const { executeResult } = await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
    assert.equal(executeResult?.totalSuccessful, 2);
    assert.equal(await tokenSupply(world, project.mint), supply - 2_000_000n);
  },
);

async function startWorker(): Promise<ServiceProcess> {
  const worker = await startServiceProcess('work', { ...world.environment, ...world.gate.environment });
  workers.push(worker);
  return worker;
}
