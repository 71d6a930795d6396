import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, type OpenBatch, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { cancel, cancelAsWallet } from '@flywheel/testing/cancel';
import { findMultisig, readBatchOnChain, tokenSupply } from '@flywheel/testing/chain';
import { heavyBurnPipeline } from '@flywheel/testing/client';
import { WITH_BUNDLES } from '@flywheel/testing/cluster';
import { dropBundle, ENGINES, type Hold, holdSends } from '@flywheel/testing/gate';
import { WITH_HAPROXY } from '@flywheel/testing/haproxy';
import { countOpenJobs, countPutOff, makeDue } from '@flywheel/testing/jobs';
import { signIn, type TestProject } from '@flywheel/testing/project';
import { createProjectIn, type GatedShards, openGatedShards } from '@flywheel/testing/two-shards';
import type { World } from '@flywheel/testing/world';
import { setPause } from '../company/operators.ts';
import { assertRentBack, type DepartedRows, moveToSecond, typesOf } from './moves.ts';

/** More than two bundles hold: the bundle in flight when a batch is ended is not the last. */
const PIPELINES = 36;
const ONE_TOKEN = 1_000_000n;

interface Midway {
  readonly project: TestProject;
  readonly batch: OpenBatch & { readonly batchIndex: bigint };
  readonly hold: Hold;
  readonly supply: bigint;
}

const [engine] = ENGINES;

describe('a project that moves while votes are owed that close a batch', {
  skip: WITH_HAPROXY.skip || WITH_BUNDLES.skip,
}, () => {
  let shards: GatedShards;
  before(async () => {
    shards = await openGatedShards();
  });
  after(() => shards?.stop());

  it('has both votes cast in its new shard if the batch was cancelled, and not ended, before the move', async () => {
    const { first, proxy } = shards;
    const midway = await executeHalf();
    const { project, batch, hold } = midway;
    assert.equal(await cancel(proxy, project, batch.id), undefined);
    assert.equal(await countOpenJobs(first, 'cancel', batch.id), 1);
    const departed = await moveToSecond(shards, project, hold.release);
    assert.deepEqual(
      [departed.batch(batch.id).status, typesOf(departed.jobs(batch.id))],
      ['FINALIZED', ['execute', 'cancel']],
    );
    await assertClosed(midway);
  });

  it('has both votes cast in its new shard if the batch has expired, and the cluster has not taken the company’s', async () => {
    const { first } = shards;
    const midway = await executeHalf();
    const { project, batch, hold } = midway;
    hold.drop();
    await makeDue(first, 'expire', batch.id);
    first.gate.intercept('sendBundle', () => dropBundle(first.localnet));
    await waitForBatch(first, project, batch.id, ({ status }) => status === 'FAILED');
    await untilPutOff(first, batch);
    assert.deepEqual(await readVotes(midway), []);
    assertEnded(await moveToSecond(shards, project), midway);
    await assertClosed(midway);
  });

  it('has the wallet’s vote awaited in its new shard if the company’s was cast before the move', async () => {
    const { first, proxy } = shards;
    const midway = await executeHalf();
    const { project, batch, hold } = midway;
    await cancel(proxy, project, batch.id);
    hold.release();
    await waitForBatch(first, project, batch.id, ({ status }) => status === 'FAILED');
    const { company } = await findMultisig(first, project);
    await untilPutOff(first, batch);
    assert.deepEqual(await readVotes(midway), [company]);
    assertEnded(await moveToSecond(shards, project), midway);
    await assertClosed(midway);
  });

  it('has both votes cast in its new shard once the company has resumed the project there', async () => {
    const { first, second, proxy, operator } = shards;
    const midway = await executeHalf();
    const { project, batch, hold } = midway;
    const decider = { wallet: operator, address: operator.address };
    await setPause(first, { ...decider, cookie: await signIn(first.url, operator) }, project, true);
    await cancel(proxy, project, batch.id);
    hold.release();
    await waitForBatch(first, project, batch.id, ({ status }) => status === 'FAILED');
    await waitUntil(
      'the closing to stop',
      () => countOpenJobs(first, 'close', batch.id),
      (count) => count === 0,
    );
    assert.deepEqual(await readVotes(midway), []);
    const departed = await moveToSecond(shards, project);
    assert.deepEqual([departed.batch(batch.id).status, typesOf(departed.jobs(batch.id))], ['FAILED', []]);
    await setPause(second, { ...decider, cookie: await signIn(second.url, operator) }, project, false);
    await assertClosed(midway);
  });

  /** Has the first shard execute a batch until its second bundle is sent. */
  async function executeHalf(): Promise<Midway> {
    const { first, proxy } = shards;
    // The holder of the sends in the test before looks for a project that has left.
    first.gate.clear();
    const project = await createProjectIn(first, proxy);
    const batch = await setUpBatch(proxy, project, Array.from({ length: PIPELINES }, heavyBurnPipeline));
    const supply = await tokenSupply(first, project.mint);
    const hold = holdSends(first, engine, project, batch.batchIndex);
    assert.equal((await executeSigned(proxy, project, batch, { prefer: 'wait=0' })).status, 202);
    await hold.reached;
    return { project, batch, hold, supply };
  }

  /** Waits until the closing of a batch is put off. */
  async function untilPutOff(world: World, { id }: OpenBatch): Promise<void> {
    const count = () => countPutOff(world, 'close', id);
    await waitUntil('the closing to be put off', count, (putOff) => putOff === 1);
  }

  /** Asserts that a batch left after its end, with a closing that is to be done. */
  function assertEnded(departed: DepartedRows, { batch }: Midway): void {
    const { status, closed_at } = departed.batch(batch.id);
    assert.deepEqual([status, closed_at], ['FAILED', null]);
    // An execution that was put off may be there too: it finds that the batch has ended.
    assert.equal(typesOf(departed.jobs(batch.id)).at(-1), 'close');
  }

  /** Reads, before the move, who has voted to cancel what the chain shows as approved. */
  async function readVotes({ project, batch }: Midway): Promise<readonly string[]> {
    const { proposal } = await readBatchOnChain(shards.first, project, batch.batchIndex);
    assert.equal(proposal.status, 'Approved');
    return proposal.cancelled;
  }

  /** Has the wallet cast its vote, and asserts that the batch is closed with what was executed, and all rent is back. */
  async function assertClosed({ project, batch, supply }: Midway): Promise<void> {
    const { second, proxy } = shards;
    const { executeResult } = await waitForBatch(proxy, project, batch.id, ({ status }) => status === 'FAILED');
    const executed = (await readBatchOnChain(second, project, batch.batchIndex)).batch.executedTransactionIndex;
    assert.ok(executed > 0 && executed < PIPELINES, `${executed} executed`);
    assert.equal(executeResult?.totalSuccessful, executed);
    await cancelAsWallet({ url: proxy.url, rpc: second.rpc }, project, batch.id);
    await assertRentBack(proxy, project, batch, 'FAILED');
    assert.equal(await tokenSupply(second, project.mint), supply - BigInt(executed) * ONE_TOKEN);
  }
});
