import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { executeSigned, waitForBatch } from '@flywheel/testing/batches';
import { burnPipeline } from '@flywheel/testing/client';
import { onlyLocal } from '@flywheel/testing/cluster';
import { changeTerms } from '@flywheel/testing/decisions';
import { openGatedWorld } from '@flywheel/testing/gate';
import { createProject, requireOk } from '@flywheel/testing/project';
import { advanceWithBundles, REAL_FINALITY, resumeSlots, setUpAndPause } from '@flywheel/testing/slots';
import type { World } from '@flywheel/testing/world';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { type Operator, openCompanyWorld } from '../company/operators.ts';

let world: World;
let operator: Operator;
before(async () => {
  const opened = await openCompanyWorld({}, (environment) => openGatedWorld(environment, REAL_FINALITY));
  world = opened.world;
  [operator] = opened.operators;
});
after(() => world.stop());

it(
  'a batch whose approval a fork took away, and which a person would have to approve by now, ends',
  onlyLocal('fork'),
  async () => {
    const project = await createProject(world);
    const batch = await setUpAndPause(world, project, [burnPipeline(1)]);
    const answer = executeSigned(world, project, batch, { prefer: 'wait=60' });
    assert.equal(requireOk(await advanceWithBundles(world, batch.id, answer)).status, 'EXECUTED');
    requireOk(await changeTerms(world, operator, project, { approvalMode: 'manual' }));
    const [execution] = await findBundles(world.db, batch.id, 'execution');
    const slot = await world.rpc.getSlot({ commitment: 'processed' }).send();
    world.localnet.fork({ slots: slot - (execution?.landedSlot ?? assert.fail('Nothing has landed.')) });
    await resumeSlots(world);
    const { executeResult } = await waitForBatch(world, project, batch.id, ({ status }) => status === 'FAILED');
    assert.match(executeResult?.failedTxMsg ?? '', /^A fork undid the execution.*A person of the company/);
  },
);
