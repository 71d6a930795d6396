import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, type OpenBatch, openBatch, setUpBatch, waitForBatch } from '@flywheel/testing/batches';
import { burnPipeline, send } from '@flywheel/testing/client';
import { WITH_HAPROXY } from '@flywheel/testing/haproxy';
import { requireOk, signIn, type TestProject } from '@flywheel/testing/project';
import { approve, setUpWithdrawal, waitForWithdrawal } from '@flywheel/testing/treasury';
import { createProjectIn, openTwoShards, type TwoShards } from '@flywheel/testing/two-shards';
import { generateKeyPairSigner } from '@solana/kit';
import { assertRentBack, decideIn, moveToSecond } from './moves.ts';

describe('a project that moves with a batch in each state', WITH_HAPROXY, () => {
  let shards: TwoShards;
  let project: TestProject;
  before(async () => {
    shards = await openTwoShards();
    project = await createProjectIn(shards.first, shards.proxy, { approvalMode: 'manual' });
  });
  after(() => shards?.stop());

  it('ends each of them in its new shard, and gets all rent back', async () => {
    const { first, second, proxy } = shards;
    const inFirst = await decideIn(shards, first);
    const to = (await generateKeyPairSigner()).address;

    const [unsigned, undecided, cancelled, executed] = [await setUp(), await setUp(), await setUp(), await setUp()];
    const withdrawal = await setUpWithdrawal(proxy, project, { asset: 'TOKEN', to, amount: '3' });
    await askToExecute(undecided);
    await askToExecute(executed);
    await inFirst(executed.id);
    requireOk(
      await send(proxy.url, 'POST', `/v1/flywheel/batch/${cancelled.id}/cancel`, { key: project.apiKey, body: {} }),
    );
    await waitForBatch(proxy, project, executed.id, ({ status }) => status === 'EXECUTED');
    // Its setup is due.
    const begun = await openBatch(proxy, project, [burnPipeline()]);
    const departed = await moveToSecond(shards, project);
    assert.equal(departed.batch(unsigned.id).signed_tx, null);
    const { company_asked_at, company_decided_at } = departed.batch(undecided.id);
    assert.deepEqual([company_asked_at !== null, company_decided_at], [true, null]);

    const inSecond = await decideIn(shards, second);
    // Its person has no session in the old shard, which the proxy remembers.
    const moved = { ...project, cookie: await signIn(proxy.url, project.wallet) };
    await waitForBatch(proxy, project, begun.id, ({ status }) => status === 'FINALIZED');
    await inSecond(undecided.id);
    await askToExecute(unsigned);
    await inSecond(unsigned.id);
    await askToExecute(begun);
    await inSecond(begun.id);
    requireOk(await approve(proxy, moved, withdrawal));
    await inSecond(withdrawal);
    await waitForWithdrawal(proxy, moved, withdrawal, ({ batch }) => batch.status === 'EXECUTED');
    for (const { id } of [undecided, unsigned, begun, executed]) {
      await waitForBatch(proxy, project, id, ({ status }) => status === 'EXECUTED');
    }
    for (const each of [undecided, unsigned, begun, executed]) await assertRentBack(proxy, project, each, 'EXECUTED');
    await assertRentBack(proxy, project, cancelled, 'FAILED');
  });

  function setUp(): Promise<OpenBatch> {
    return setUpBatch(shards.proxy, project, [burnPipeline()]);
  }

  /** The company is asked for each batch. */
  async function askToExecute(batch: OpenBatch): Promise<void> {
    assert.equal((await executeSigned(shards.proxy, project, batch)).status, 202);
  }
});
