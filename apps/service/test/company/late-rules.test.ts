import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { CompanyPolicy, Pipeline } from '@flywheel/api';
import { executeSigned, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { airdropPipeline, burnPipeline } from '@flywheel/testing/client';
import type { GatedWorld } from '@flywheel/testing/gate';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { approve as approveByWallet, setUpWithdrawal } from '@flywheel/testing/treasury';
import { generateKeyPairSigner } from '@solana/kit';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { approve, createManualProject, type Operator, openCompanyWorld, setRules } from './operators.ts';

describe('a stricter rule that is applied while a worker checks what an operator has approved', () => {
  let world: GatedWorld;
  let first: Operator;
  let second: Operator;
  let bob: string;
  before(async () => {
    let operators: readonly [Operator, Operator];
    ({ world, operators } = await openCompanyWorld());
    [first, second] = operators;
    bob = (await generateKeyPairSigner()).address;
  });
  after(() => world.stop());

  it('ends a batch of which it refuses a recipient, and the company does not sign', async () => {
    const project = await createManualProject(world);
    const batchId = await openWaiting(project, [airdropPipeline(bob, 1)]);
    await approveMeanwhile(project, batchId, { denied: [bob] });
    const { executeResult } = await waitForBatch(world, project, batchId, ({ status }) => status !== 'FINALIZED');
    assert.match(executeResult?.failedTxMsg ?? '', /is a denied recipient.*rules for this project have changed since/);
    assert.deepEqual(await findBundles(world.db, batchId, 'execution'), []);
  });

  it('makes a batch wait for a second operator', async () => {
    const project = await createManualProject(world);
    const batchId = await openWaiting(project, [burnPipeline(1)]);
    await approveMeanwhile(project, batchId, { twoOperatorsPerBatch: '0' });
    await assertWaits(batchId);
    requireOk(await approve(world, second, batchId));
    await waitForBatch(world, project, batchId, ({ status }) => status === 'EXECUTED');
  });

  it('makes a withdrawal wait for a second operator', async () => {
    const project = await createProject(world);
    const batchId = await setUpWithdrawal(world, project, { asset: 'TOKEN', to: bob, amount: '1' });
    requireOk(await approveByWallet(world, project, batchId));
    await untilWaiting(batchId);
    await approveMeanwhile(project, batchId, { twoOperatorsPerBatch: '0' });
    await assertWaits(batchId);
    requireOk(await approve(world, second, batchId));
    await waitUntil(
      `the end of ${batchId}`,
      () => readRow(batchId),
      ({ status }) => status === 'EXECUTED',
    );
  });

  async function openWaiting(project: TestProject, pipelines: readonly Pipeline[]): Promise<string> {
    const batch = await setUpBatch(world, project, pipelines);
    assert.equal((await executeSigned(world, project, batch)).status, 202);
    await untilWaiting(batch.id);
    return batch.id;
  }

  /** Lets the first operator approve, and applies the rules while the worker waits for its first simulation. */
  async function approveMeanwhile(project: TestProject, batchId: string, policy: CompanyPolicy): Promise<void> {
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    world.gate.intercept('simulateTransaction', async (_call, pass) => {
      if ((await readRow(batchId)).company_decided_at === null) return pass();
      reached.resolve();
      await released.promise;
      return pass();
    });
    requireOk(await approve(world, first, batchId));
    await reached.promise;
    await setRules(world, first, project, policy);
    released.resolve();
  }

  async function assertWaits(batchId: string): Promise<void> {
    const { status } = await untilWaiting(batchId);
    assert.equal(status, 'FINALIZED');
    assert.deepEqual(await findBundles(world.db, batchId, 'execution'), []);
  }

  /** Also resolves when the batch has ended. */
  function untilWaiting(batchId: string) {
    return waitUntil(
      `${batchId} to wait for the company`,
      () => readRow(batchId),
      (row) => row.ended_at !== null || (row.company_asked_at !== null && row.company_decided_at === null),
    );
  }

  function readRow(id: string) {
    const columns = ['status', 'ended_at', 'company_asked_at', 'company_decided_at'] as const;
    return world.db.selectFrom('batches').select(columns).where('id', '=', id).executeTakeFirstOrThrow();
  }
});
