import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  executeSigned,
  type OpenBatch,
  openBatch,
  setUpBatch,
  waitForBatch,
  waitUntil,
} from '@flywheel/testing/batches';
import { burnPipeline, getBatch, send } from '@flywheel/testing/client';
import { approveForCompany, type Decider } from '@flywheel/testing/decisions';
import { WITH_HAPROXY } from '@flywheel/testing/haproxy';
import { requireOk, signIn, type TestProject } from '@flywheel/testing/project';
import { approve, setUpWithdrawal, waitForWithdrawal } from '@flywheel/testing/treasury';
import { createProjectIn, openTwoShards, type TwoShards } from '@flywheel/testing/two-shards';
import type { World } from '@flywheel/testing/world';
import { generateKeyPairSigner } from '@solana/kit';
import { systemClock as clock } from '../../src/clock.ts';
import { moveProject } from '../../src/projects/move-project.ts';

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
    const inFirst = await decideIn(first);
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
    await moveProject({ from: first.db, to: second.db, clock }, project.projectId, async () => undefined);

    const inSecond = await decideIn(second);
    // Its person has no session in the old shard, which the proxy remembers.
    const moved = { ...project, cookie: await signIn(proxy.url, project.wallet) };
    // The proxy remembers the old shard for one more request, which is refused.
    await waitUntil(
      'the setup',
      () => getBatch(proxy.url, project.apiKey, begun.id),
      ({ body }) => body.status === 'FINALIZED',
    );
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
    for (const { id } of [undecided, unsigned, begun, executed, cancelled]) {
      const { status, ledger } = await waitUntil(
        `the end of ${id}`,
        async () => requireOk(await getBatch(proxy.url, project.apiKey, id, '?include=ledger')),
        (seen) => seen.ledger.isComplete,
      );
      assert.equal(status, id === cancelled.id ? 'FAILED' : 'EXECUTED');
      assert.equal(ledger.rentBackLamports, ledger.rentOutLamports);
    }
  });

  function setUp(): Promise<OpenBatch> {
    return setUpBatch(shards.proxy, project, [burnPipeline()]);
  }

  /** The company is asked for each batch. */
  async function askToExecute(batch: OpenBatch): Promise<void> {
    assert.equal((await executeSigned(shards.proxy, project, batch)).status, 202);
  }

  /** Signs the operator in to a shard. @returns a function that approves a batch there. */
  async function decideIn({ url, db, rpc }: World): Promise<(batchId: string) => Promise<void>> {
    const decider: Decider = { wallet: shards.operator, cookie: await signIn(url, shards.operator) };
    return async (batchId) => void requireOk(await approveForCompany({ url, db, rpc }, decider, batchId));
  }
});
