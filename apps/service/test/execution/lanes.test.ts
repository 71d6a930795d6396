import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { addressEncoder } from '@flywheel/protocol';
import { transactionAddress } from '@flywheel/squads';
import {
  executeSigned,
  type OpenBatch,
  openBatch,
  readBatch,
  setUpBatch,
  waitForBatch,
  waitUntil,
} from '@flywheel/testing/batches';
import { readBatchOnChain } from '@flywheel/testing/chain';
import { burnPipeline, heavyBurnPipeline, send } from '@flywheel/testing/client';
import { type GatedWorld, openGatedWorld } from '@flywheel/testing/gate';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { address } from '@solana/kit';
import { sql } from 'kysely';

describe('batches of one multisig', () => {
  let world: GatedWorld;
  let project: TestProject;
  before(async () => {
    world = await openGatedWorld({ JITO_BLOCK_ENGINE_URL: '' });
  });
  after(() => world.stop());
  beforeEach(async () => {
    project = await createProject(world);
  });

  it('are set up while an earlier one executes, and are executed after it', async () => {
    const first = await setUpBatch(world, project, Array.from({ length: 8 }, heavyBurnPipeline));
    const hold = holdSends(first.batchIndex, { afterPipelines: 1 });
    const executed = executeSigned(world, project, first, { prefer: 'wait=60' });
    await hold.reached;
    const behind = await Promise.all([1, 2].map(() => setUpBatch(world, project, [burnPipeline(1)])));
    assert.equal((await readBatch(world, project, first.id)).status, 'FINALIZED', 'it still executes');
    const [next] = behind;
    assert.ok(next);
    assert.equal((await executeSigned(world, project, next, { prefer: 'wait=0' })).status, 202);
    hold.release();
    assert.equal(requireOk(await executed).status, 'EXECUTED');
    await waitForBatch(world, project, next.id, ({ status }) => status === 'EXECUTED');
    const [firstSlot, nextSlot] = await Promise.all([lastSlotOf(first.id), firstSlotOf(next.id)]);
    assert.ok(firstSlot <= nextSlot, `${firstSlot} ${nextSlot}`);
  });

  it('are executed once they are set up, if that was requested before', async () => {
    const hold = holdSends(1n);
    const batch = await openBatch(world, project, [burnPipeline(1)]);
    await hold.reached;
    const executed = executeSigned(world, project, batch, { prefer: 'wait=60' });
    await waitUntil(
      'the job that finds the batch not set up, and postpones itself',
      () => executionsOf(batch.id),
      (executions) => executions.some(({ isPostponed }) => isPostponed),
    );
    hold.release();
    assert.equal(requireOk(await executed).status, 'EXECUTED');
    assert.equal((await executionsOf(batch.id)).length, 2, 'the end of the setup has let the waiting one start');
  });

  it('leave no gap and no account behind if one is cancelled while its creation is on its way', async () => {
    const hold = holdSends(1n);
    const cancelled = await openBatch(world, project, [burnPipeline(1)]);
    await hold.reached;
    await cancel(cancelled);
    const next = await openBatch(world, project, [burnPipeline(1)]);
    hold.release();
    await waitForBatch(world, project, next.id, ({ status }) => status === 'FINALIZED');
    const { locked_lamports } = await waitUntil(
      'the closing',
      () =>
        world.db
          .selectFrom('batches')
          .select(['closed_at', 'locked_lamports'])
          .where('id', '=', cancelled.id)
          .executeTakeFirstOrThrow(),
      ({ closed_at }) => closed_at !== null,
    );
    assert.equal(locked_lamports, 0n);
    await assert.rejects(readBatchOnChain(world, project, 1n));
    assert.equal(requireOk(await executeSigned(world, project, next)).status, 'EXECUTED');
  });

  it('use up the index of one that was cancelled while an earlier one executes', async () => {
    const first = await setUpBatch(world, project, Array.from({ length: 8 }, heavyBurnPipeline));
    const hold = holdSends(first.batchIndex, { afterPipelines: 1 });
    const executed = executeSigned(world, project, first, { prefer: 'wait=60' });
    await hold.reached;
    const creation = world.gate.hold('getLatestBlockhash');
    const cancelled = await openBatch(world, project, [burnPipeline(1)]);
    await cancel(cancelled);
    creation.release();
    const next = await setUpBatch(world, project, [burnPipeline(1)]);
    assert.equal(next.batchIndex, first.batchIndex + 2n);
    assert.equal((await readBatch(world, project, first.id)).status, 'FINALIZED', 'it still executes');
    hold.release();
    assert.equal(requireOk(await executed).status, 'EXECUTED');
    assert.equal(requireOk(await executeSigned(world, project, next)).status, 'EXECUTED');
  });

  async function cancel({ id }: OpenBatch): Promise<void> {
    const path = `/v1/flywheel/batch/${id}/cancel`;
    const { status } = requireOk(await send(world.url, 'POST', path, { key: project.apiKey, body: {} }));
    assert.equal(status, 'FAILED');
  }

  /** Lists the jobs that execute a batch, those that have ended included. */
  async function executionsOf(id: string): Promise<{ readonly isPostponed: boolean }[]> {
    const { rows } = await sql<{ isPostponed: boolean }>`
      select state = 'created' and start_after > created_on as "isPostponed" from jobs.job
      where data->>'type' = 'execute' and data->>'batchId' = ${id}
    `.execute(world.db);
    return rows;
  }

  /** Holds the transactions that name a batch, from the given number of executed pipelines on; all others pass. */
  function holdSends(
    batchIndex: bigint,
    { afterPipelines = 0 } = {},
  ): { readonly reached: Promise<void>; release(): void } {
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { multisig } = project;
    const named = Buffer.from(addressEncoder.encode(transactionAddress(address(multisig), batchIndex)));
    world.gate.intercept('sendTransaction', async ({ params: [wire] }, pass) => {
      if (!Buffer.from(String(wire), 'base64').includes(named)) return pass();
      if (afterPipelines > 0) {
        const { batch } = await readBatchOnChain(world, { projectId: project.projectId }, batchIndex, 'processed');
        if (batch.executedTransactionIndex < afterPipelines) return pass();
      }
      reached.resolve();
      await released.promise;
      return pass();
    });
    return { reached: reached.promise, release: released.resolve };
  }

  async function slotsOf(id: string): Promise<bigint[]> {
    const rows = await world.db
      .selectFrom('bundles')
      .select('landed_slot')
      .where('batch_id', '=', id)
      .where('phase', '=', 'execution')
      .orderBy('landed_slot')
      .execute();
    return rows.flatMap(({ landed_slot }) => landed_slot ?? []);
  }

  const firstSlotOf = async (id: string) => (await slotsOf(id)).at(0) ?? assert.fail('nothing landed');
  const lastSlotOf = async (id: string) => (await slotsOf(id)).at(-1) ?? assert.fail('nothing landed');
});
