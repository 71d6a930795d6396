import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { cancel } from '@flywheel/testing/cancel';
import { burnPipeline, getBatch } from '@flywheel/testing/client';
import { makeDue } from '@flywheel/testing/jobs';
import { createProject, requireOk } from '@flywheel/testing/project';
import { randomAddress } from '@flywheel/testing/records';
import { finalizeSlots } from '@flywheel/testing/slots';
import { createSignerFile, openWorld, type World } from '@flywheel/testing/world';
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

const SOL = 1_000_000_000n;

it('a project that a lost operator locks: its batches expire, and those whose execution has begun are cancelled', async () => {
  const world = await openWorld();
  const directory = await mkdtemp(join(tmpdir(), 'flywheel-locked-'));
  try {
    const project = await createProject(world);
    const [expired, cancelled] = [
      await setUpBatch(world, project, [burnPipeline()]),
      await setUpBatch(world, project, [burnPipeline()]),
    ];
    await finalizeSlots(world);
    const next = join(directory, 'operator.json');
    await world.localnet.bank.airdrop(await createSignerFile(next), SOL);
    const lost = world.operator.address;
    await world.restart({ OPERATOR_SIGNER: next });
    const { locked } = await withAdmin(world.environment, ({ recoverOperator }) => recoverOperator(lost));
    assert.deepEqual(locked, [project.projectId]);

    await world.db
      .updateTable('batches')
      .set({ execution_began_at: new Date() })
      .where('id', '=', cancelled.id)
      .execute();
    await cancel(world, project, cancelled.id);
    await makeDue(world, 'expire', expired.id);
    for (const { id, cause } of [
      { id: expired.id, cause: 'expired' },
      { id: cancelled.id, cause: 'cancelled' },
    ]) {
      const read = async () => requireOk(await getBatch(world.url, project.apiKey, id));
      const { endCause } = await waitUntil('the end', read, ({ status }) => status === 'FAILED');
      assert.equal(endCause, cause);
    }
  } finally {
    await world.stop();
    await rm(directory, { recursive: true });
  }
});
