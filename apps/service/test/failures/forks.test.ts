import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, type OpenBatch, readBatch, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline } from '@flywheel/testing/client';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { type Signature, signature } from '@solana/kit';
import type { Bundle } from '../../src/model/batch.ts';

describe('a fork', () => {
  let world: World;
  before(async () => {
    // Long enough for a fork before anything is finalized; waits are warped.
    world = await openWorld({ LOG_LEVEL: 'fatal' }, { slotMs: 400, finalizedLagSlots: 31 });
  });
  after(() => world.stop());

  it('that takes the setup of a finished batch away delays its execution: it is set up again', async () => {
    const project = await createProject(world);
    const supply = await tokenSupply(world, project.mint);
    const opened = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
    await forkAway(opened.id, 'setup');
    const { status, result } = requireOk(await executeSigned(world, project, opened, WAIT));
    assert.deepEqual([status, result.totalSuccessful], ['EXECUTED', 2]);
    await finalExecution(project, opened.id);
    assert.equal(await tokenSupply(world, project.mint), supply - 3_000_000n);
  });

  it('that takes an execution away is made good: every pipeline is executed once, and the result names what landed', async () => {
    const project = await createProject(world);
    const supply = await tokenSupply(world, project.mint);
    const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
    await executeAndForkAway(project, batch, 'execution');
    const hashes = await finalExecution(project, batch.id);
    assert.equal(await tokenSupply(world, project.mint), supply - 3_000_000n);
    const { value } = await world.rpc.getSignatureStatuses(hashes, { searchTransactionHistory: true }).send();
    assert.ok(value.every((status) => status?.confirmationStatus === 'finalized' && status.err === null));
  });

  it('that takes setup and execution away is made good by both', async () => {
    const project = await createProject(world);
    const supply = await tokenSupply(world, project.mint);
    const opened = await setUpBatch(world, project, [burnPipeline(1)]);
    await executeAndForkAway(project, opened, 'setup');
    await finalExecution(project, opened.id);
    assert.equal(await tokenSupply(world, project.mint), supply - 1_000_000n);
  });

  const WAIT = { prefer: 'wait=60' };

  /** Executes a batch, and takes away what was sent for it from this phase on as soon as it reads EXECUTED. */
  async function executeAndForkAway(project: TestProject, batch: OpenBatch, phase: Bundle['phase']): Promise<void> {
    assert.equal(requireOk(await executeSigned(world, project, batch, WAIT)).status, 'EXECUTED');
    await forkAway(batch.id, phase);
  }

  async function forkAway(batchId: string, phase: Bundle['phase']): Promise<void> {
    const row = await bundleOf(batchId, phase);
    const current = await world.rpc.getSlot({ commitment: 'processed' }).send();
    assert.ok(row?.landed_slot);
    world.localnet.fork({ slots: current - row.landed_slot });
  }

  function bundleOf(batchId: string, phase: Bundle['phase']) {
    const bundles = world.db
      .selectFrom('bundles')
      .select(['signatures', 'landed_slot'])
      .where('batch_id', '=', batchId);
    return bundles.where('phase', '=', phase).orderBy('id', 'desc').limit(1).executeTakeFirst();
  }

  /** Waits until the cluster has finalized an execution. @returns the signatures of its result. */
  async function finalExecution(project: TestProject, batchId: string): Promise<Signature[]> {
    await waitUntil(
      'the end to be final',
      async () => {
        await world.localnet.warp();
        const batches = world.db.selectFrom('batches').select('end_finalized_at').where('id', '=', batchId);
        return (await batches.executeTakeFirstOrThrow()).end_finalized_at;
      },
      (at) => at !== null,
    );
    const { executeResult } = await readBatch(world, project, batchId);
    const bundles = executeResult?.successfulExecutions ?? [];
    return bundles.flatMap(({ txHashes }) => txHashes.map((hash) => signature(hash)));
  }
});
