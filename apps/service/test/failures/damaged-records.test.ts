import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertError, executeSigned, openBatch, setUpBatch, waitForBatch } from '@flywheel/testing/batches';
import { tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline } from '@flywheel/testing/client';
import { makeDue } from '@flywheel/testing/jobs';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { sql } from 'kysely';
import { findBundles, insertBundle } from '../../src/store/batches/bundles.ts';

let world: World;
let other: TestProject;
before(async () => {
  world = await openWorld({ LOG_LEVEL: 'fatal' });
  other = await createProject(world);
});
after(() => world.stop());

describe('a damaged pipeline record', () => {
  const DAMAGES = [
    {
      name: 'its instructions are of another shape',
      damage: sql`update pipelines set instructions = '{"oops": 1}'`,
      problem: /pipelines\[0\] of batch \S+ is damaged: its instructions are not a list of instructions\./,
    },
    {
      name: 'an instruction is without accounts',
      damage: sql`update pipelines set instructions = jsonb_set(instructions::jsonb, '{0}', '{"programAddress": "x"}')::json`,
      problem: /pipelines\[0\] of batch \S+ is damaged: its instructions are not a list of instructions\./,
    },
    {
      name: 'its actions are of another shape',
      damage: sql`update pipelines set actions = '[null]'`,
      problem: /pipelines\[0\] of batch \S+ is damaged: its actions are not a list of actions\./,
    },
    {
      name: 'it is gone',
      damage: sql`delete from pipelines`,
      problem: /record of batch \S+ is damaged: 1 of its 2 pipelines are stored\./,
    },
  ];
  for (const { name, damage, problem } of DAMAGES) {
    it(`pauses its batch with an error, other batches continue, and so does this one after the repair: ${name}`, async (t) => {
      const project = await createProject(world);
      // Setup fails at its first read of the chain, and starts again after the record has been damaged.
      world.localnet.faults.set({ method: 'getMultipleAccounts', kind: 'error', status: 500 });
      t.after(() => world.localnet.faults.clear());
      const batch = await openBatch(world, project, [burnPipeline(), burnPipeline()]);
      await waitForBatch(world, project, batch.id, ({ executionError }) => executionError !== undefined);
      const mend = await keepFirst(batch.id);
      await sql`${damage} where batch_id = ${batch.id} and position = 0`.execute(world.db);
      world.localnet.faults.clear();
      await makeDue(world, 'setup', batch.id);

      const paused = await untilTold(project, batch.id);
      assert.equal(paused.status, 'AVAILABLE_TO_QUEUE');
      assert.match(paused.executionError?.message ?? '', problem);
      assertError(await executeSigned(world, project, batch), 409, 'ERR_BATCH_WOULD_FAIL', problem);
      await assertGoesOn(other);

      await mend();
      await makeDue(world, 'setup', batch.id);
      const { status } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
      assert.equal(status, 'EXECUTED');
    });
  }
});

describe('a damaged bundle record', () => {
  it('pauses its batch with an error, other batches continue, and so does this one after the record is deleted', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline(2)]);
    const supply = await tokenSupply(world, project.mint);
    await insertLike(batch.id, 'nonsense');
    const asked = await executeSigned(world, project, batch, { prefer: 'wait=0' });
    assert.equal(asked.status, 202, JSON.stringify(asked.body));
    const paused = await untilTold(project, batch.id);
    assert.equal(paused.status, 'FINALIZED');
    assert.match(
      paused.executionError?.message ?? '',
      /bundle \d+ of batch \S+ is damaged: its signatures\[0\] is not a signature\./,
    );
    await assertGoesOn(other);
    assert.equal(await tokenSupply(world, project.mint), supply);

    await sql`delete from bundles where batch_id = ${batch.id} and phase = 'execution'`.execute(world.db);
    await makeDue(world, 'execute', batch.id);
    const { status, result } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    assert.deepEqual([status, result.totalSuccessful], ['EXECUTED', 1]);
    assert.equal(await tokenSupply(world, project.mint), supply - 2_000_000n);
  });

  it('with another batch’s signature changes no result: the chain decides what was executed', async () => {
    const project = await createProject(world);
    const stranger = await setUpBatch(world, other, [burnPipeline()]);
    const [foreign] = await findBundles(world.db, stranger.id, 'setup');
    const batch = await setUpBatch(world, project, [burnPipeline(3)]);
    const supply = await tokenSupply(world, project.mint);
    await insertLike(batch.id, foreign?.signatures[0] ?? '');
    const { status } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    assert.equal(status, 'EXECUTED');
    assert.equal(await tokenSupply(world, project.mint), supply - 3_000_000n);
  });
});

/** Saves the first pipeline of a batch. @returns a function that restores it. */
async function keepFirst(batchId: string): Promise<() => Promise<void>> {
  const ofFirst = world.db
    .selectFrom('pipelines')
    .selectAll()
    .where('batch_id', '=', batchId)
    .where('position', '=', 0);
  const { actions, instructions, ...kept } = await ofFirst.executeTakeFirstOrThrow();
  return async () => {
    const json = { actions: JSON.stringify(actions), instructions: JSON.stringify(instructions) };
    await world.db.deleteFrom('pipelines').where('batch_id', '=', batchId).where('position', '=', 0).execute();
    await world.db
      .insertInto('pipelines')
      .values({ ...kept, ...json })
      .execute();
  };
}

/** Inserts a false bundle of the batch's execution: a copy of its first setup bundle with another signature. */
async function insertLike(batchId: string, signature: string): Promise<void> {
  const [like] = await findBundles(world.db, batchId, 'setup');
  if (!like) throw new Error(`Batch ${batchId} has no bundle.`);
  const { transactions, ...rest } = like;
  const only = { transactions: transactions.slice(0, 1), createdAt: new Date() };
  const { id } = await insertBundle(world.db, {
    ...rest,
    ...only,
    signatures: like.signatures.slice(0, 1),
    phase: 'execution',
  });
  await sql`update bundles set signatures = array[${signature}] where id = ${id}`.execute(world.db);
  await sql`update batches set execution_began_at = null where id = ${batchId}`.execute(world.db);
}

function untilTold(project: TestProject, batchId: string) {
  const isTold = ({ executionError }: { executionError?: { code: string } }) =>
    executionError?.code === 'ERR_BATCH_WOULD_FAIL';
  return waitForBatch(world, project, batchId, isTold);
}

async function assertGoesOn(project: TestProject): Promise<void> {
  const batch = await openBatch(world, project, [burnPipeline()]);
  const { status } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
  assert.equal(status, 'EXECUTED');
}
