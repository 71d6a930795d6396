import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, readBatch, rewindBatch, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { burnPipeline } from '@flywheel/testing/client';
import { WITH_BUNDLES } from '@flywheel/testing/cluster';
import { changeTerms } from '@flywheel/testing/decisions';
import { type GateAnswer, type GatedWorld, interceptBundles } from '@flywheel/testing/gate';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { resumeSlots, setUpAndPause } from '@flywheel/testing/slots';
import { sql } from 'kysely';
import { approve, createManualProject, type Operator, openCompanyWorld, reject } from '../company/operators.ts';

describe('a batch that the company rejects after a bundle of its execution was sent', WITH_BUNDLES, () => {
  let world: GatedWorld;
  let operator: Operator;
  before(async () => {
    const opened = await openCompanyWorld();
    world = opened.world;
    [operator] = opened.operators;
  });
  after(() => world.stop());

  it('reads executed if the bundle lands late', async () => {
    const project = await createProject(world);
    const { batchId, landLate } = await rejectInFlight(project);
    assert.equal((await readBatch(world, project, batchId)).status, 'FINALIZED');
    await landLate();
    await resumeSlots(world);
    await waitForBatch(world, project, batchId, ({ status }) => status === 'EXECUTED');
  });

  it('ends with the company’s reason if the bundle never lands', async () => {
    const project = await createProject(world);
    const { batchId } = await rejectInFlight(project);
    await world.localnet.warp({ slots: BLOCKHASH_SLOTS });
    await resumeSlots(world);
    const { executeResult } = await waitForBatch(world, project, batchId, ({ status }) => status === 'FAILED');
    assert.equal(executeResult?.totalSuccessful, 0);
    assert.equal(executeResult?.failedTxMsg, 'The company rejected the batch: Not these.');
  });

  /** Lets the company's rules ask for a person while the first bundle is on its way, and the person reject the batch. */
  async function rejectInFlight(project: TestProject) {
    const batch = await setUpAndPause(world, project, [burnPipeline(1)]);
    const isSent = Promise.withResolvers<() => Promise<GateAnswer>>();
    const mayFail = Promise.withResolvers<void>();
    interceptBundles(world, 'execution', async (_wires, pass) => {
      isSent.resolve(pass);
      return answer('0'.repeat(64));
    });
    // The engine is wrong: the bundle may still land.
    world.gate.intercept('getInflightBundleStatuses', async ({ params: [ids] }) => {
      await mayFail.promise;
      const [id] = ids as string[];
      return answer({ context: { slot: 1 }, value: [{ bundle_id: id, status: 'Failed', landed_slot: null }] });
    });
    assert.equal((await executeSigned(world, project, batch, { prefer: 'wait=0' })).status, 202);
    const landLate = await isSent.promise;
    requireOk(await changeTerms(world, operator, project, { approvalMode: 'manual' }));
    mayFail.resolve();
    const readRow = () =>
      world.db
        .selectFrom('batches')
        .select(['company_asked_at', 'execution_began_at'])
        .where('id', '=', batch.id)
        .executeTakeFirstOrThrow();
    const asked = await waitUntil('the question', readRow, (row) => row.company_asked_at !== null);
    assert.notEqual(asked.execution_began_at, null);
    world.gate.clear();
    requireOk(await reject(world, operator, batch.id, 'Not these.'));
    return { batchId: batch.id, landLate };
  }
});

it('a batch that a restored database shows as waiting, and that the company rejects then, reads executed if it was', async () => {
  const { world, operators } = await openCompanyWorld();
  try {
    const project = await createManualProject(world, { burnLimit: '1' });
    const { id, signedTx } = await setUpBatch(world, project, [burnPipeline(1)]);
    assert.equal((await executeSigned(world, project, { id, signedTx })).status, 202);
    requireOk(await approve(world, operators[0], id));
    const row = world.db.selectFrom('batches').select('closed_at').where('id', '=', id);
    const read = () => row.executeTakeFirstOrThrow();
    await waitUntil('the closing', read, ({ closed_at }) => closed_at !== null);
    await rewindBatch(world, id);
    await world.db.deleteFrom('company_decisions').where('batch_id', '=', id).execute();
    await sql`
      update batches set status = 'FINALIZED', signed_tx = ${signedTx}, signed_at = now(), company_asked_at = now(),
        company_decided_at = null, company_operator = null
      where id = ${id}
    `.execute(world.db);
    requireOk(await reject(world, operators[0], id, 'It looks forgotten.'));
    const { status, executeResult } = await waitForBatch(world, project, id, ({ status }) => status !== 'FINALIZED');
    assert.deepEqual([status, executeResult?.totalSuccessful], ['EXECUTED', 1]);
  } finally {
    await world.stop();
  }
});

/** A blockhash lives for 150 blocks. */
const BLOCKHASH_SLOTS = 160n;

function answer(result: unknown): GateAnswer {
  return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: '0', result }) };
}
