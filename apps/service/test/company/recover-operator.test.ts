import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createProject } from '@flywheel/testing/project';
import { randomAddress } from '@flywheel/testing/records';
import { finalizeSlots } from '@flywheel/testing/slots';
import { openWorld, type World } from '@flywheel/testing/world';
import { withAdmin } from '../../src/admin.ts';

describe('the recovery from a lost operator', () => {
  const recovery = randomAddress();
  let world: World;
  before(async () => {
    world = await openWorld({ RECOVERY_ADDRESS: recovery });
  });
  after(() => world.stop());

  it('passes over a project whose multisig on chain has other members, and says so', async () => {
    const lost = world.operator.address;
    const projectIds = [await createProject(world), await createProject(world)].map(({ projectId }) => projectId);
    await finalizeSlots(world);
    // A database that knows nothing of a rotation has such a row, and a thief of `serve` can write one.
    const flywheels = world.db.selectFrom('flywheels').orderBy('multisig');
    const [first, second] = await flywheels.select(['project_id as projectId', 'multisig']).execute();
    assert.ok(first && second && projectIds.includes(second.projectId));
    const foreign = randomAddress();
    const ofFirst = world.db.updateTable('flywheels').where('project_id', '=', first.projectId);
    await ofFirst.set({ recovery: foreign }).execute();

    const recover = () => withAdmin(world.environment, ({ recoverOperator }) => recoverOperator(lost));
    const reason = `${foreign} does not propose and execute in the multisig ${first.multisig}.`;
    const mismatched = [{ projectId: first.projectId, reason }];
    // The worker creates nonces of the lost operator meanwhile.
    const { retiredNonces, ...passed } = await recover();
    assert.deepEqual(passed, { recovered: [second.projectId], locked: [], mismatched });
    assert.ok(retiredNonces > 0);

    await ofFirst.set({ recovery }).execute();
    const { recovered } = await recover();
    assert.deepEqual(recovered, [first.projectId]);
  });
});
