import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { findMultisig, readBatchOnChain, tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline, heavyBurnPipeline, send } from '@flywheel/testing/client';
import { onlyLocal, WITH_BUNDLES } from '@flywheel/testing/cluster';
import {
  ENGINES,
  type GateAnswer,
  type GatedWorld,
  holdSends,
  interceptBundles,
  openGatedWorld,
} from '@flywheel/testing/gate';
import { createProject, requireOk } from '@flywheel/testing/project';
import { signature } from '@solana/kit';
import type { RunDeps } from '../../src/batches/deps.ts';
import { awaitFinality } from '../../src/batches/jobs/finality.ts';
import type { Batch, Bundle } from '../../src/model/batch.ts';
import type { Multisig } from '../../src/model/project.ts';
import { createChain } from '../../src/solana/chain.ts';
import { findBatch } from '../../src/store/batches/batches.ts';
import { findBundles } from '../../src/store/batches/bundles.ts';

describe('a bundle that lands during the second check, after it counted as lost,', () => {
  let world: GatedWorld;
  before(async () => {
    world = await openGatedWorld();
  });
  after(() => world.stop());

  it('is detected: the batch continues, and tokens move once', WITH_BUNDLES, async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
    const supply = await tokenSupply(world, project.mint);
    let landLate: (() => Promise<GateAnswer>) | null = null;
    interceptBundles(world, 'execution', async (_wires, pass) => {
      landLate ??= pass;
      return result('0'.repeat(64));
    });
    world.gate.intercept('getInflightBundleStatuses', async ({ params: [ids] }) => {
      const [bundleId] = ids as readonly string[]; // the method's one parameter
      return result({ context: { slot: 1 }, value: [{ bundle_id: bundleId, status: 'Failed', landed_slot: null }] });
    });
    world.gate.intercept('simulateTransaction', async ({ params: [, config] }, pass) => {
      // Only the approval is simulated with its signatures.
      if (Object(config).sigVerify !== true || landLate === null) return pass();
      await landLate();
      await waitUntil(
        'the bundle to land',
        () => readBatchOnChain(world, project, batch.batchIndex, 'confirmed'),
        (seen) => seen.batch.executedTransactionIndex === 2,
      );
      const answer = await pass();
      world.gate.clear();
      return answer;
    });
    const { status, result: executed } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=30' }));
    assert.deepEqual([status, executed.totalSuccessful], ['EXECUTED', 2]);
    assert.equal(await tokenSupply(world, project.mint), supply - 3_000_000n);
  });

  it(
    'is detected if only the approval lands, after the bundle expired: no new signature is needed, and tokens move once',
    onlyLocal('land a part of a bundle'),
    async () => {
      const project = await createProject(world);
      const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
      const supply = await tokenSupply(world, project.mint);
      let landLate: (() => Promise<GateAnswer>) | null = null;
      interceptBundles(world, 'execution', async (_wires, pass) => {
        landLate ??= pass;
        await world.localnet.warp({ slots: 151n });
        return result('0'.repeat(64));
      });
      world.gate.intercept('simulateTransaction', async ({ params: [, config] }, pass) => {
        if (Object(config).sigVerify !== true || landLate === null) return pass();
        world.localnet.faults.set({ kind: 'partLand', method: 'sendBundle', landed: 1, times: 1 });
        await landLate();
        await waitUntil(
          'the approval to land',
          () => readBatchOnChain(world, project, batch.batchIndex, 'confirmed'),
          (seen) => seen.proposal.status === 'Approved',
        );
        const answer = await pass();
        world.gate.clear();
        return answer;
      });
      const { status, result: executed } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=30' }));
      assert.deepEqual([status, executed.totalSuccessful], ['EXECUTED', 2]);
      assert.equal(await tokenSupply(world, project.mint), supply - 3_000_000n);
    },
  );
});

/** More pipelines than one bundle holds. */
const PIPELINES = 36;
const [engine] = ENGINES;

describe('a transaction behind a failed one of its bundle, while its blockhash is valid,', () => {
  let world: GatedWorld;
  let batch: Batch;
  let multisig: Multisig;
  let executed: number;
  before(async () => {
    world = await openGatedWorld(engine.environment);
    const project = await createProject(world);
    const opened = await setUpBatch(world, project, Array.from({ length: PIPELINES }, heavyBurnPipeline));
    const hold = holdSends(world, engine, project, opened.batchIndex);
    assert.equal((await executeSigned(world, project, opened, { prefer: 'wait=0' })).status, 202);
    await hold.reached;
    const path = `/v1/flywheel/batch/${opened.id}/cancel`;
    await send(world.url, 'POST', path, { key: project.apiKey, headers: { prefer: 'wait=0' }, body: {} });
    hold.release();
    await waitForBatch(world, project, opened.id, ({ status }) => status === 'FAILED');
    executed = (await readBatchOnChain(world, project, opened.batchIndex)).batch.executedTransactionIndex;
    assert.ok(executed > 1 && executed < PIPELINES);
    const stored = await findBatch(world.db, opened.id);
    assert.ok(stored);
    batch = stored;
    multisig = await findMultisig(world, project);
  });
  after(() => world.stop());

  it('keeps the end of its batch open if it begins at the cursor', onlyLocal('skip slots'), async () => {
    const { isExpired, final } = await awaitEnd({ firstPipeline: executed - 1, pipelineCounts: [1, 1] });
    assert.deepEqual([isExpired, final], [true, { status: 'Approved', executed }]);
  });

  it('is final at once if the cursor cannot reach it', onlyLocal('skip slots'), async () => {
    for (const firstPipeline of [executed, executed - 2]) {
      const { isExpired, final } = await awaitEnd({ firstPipeline, pipelineCounts: [1, 1] });
      assert.deepEqual([isExpired, final], [false, { status: 'Approved', executed }]);
    }
  });

  it('keeps the end of its batch open if it is an approval', onlyLocal('skip slots'), async () => {
    const unknownFirst = { firstPipeline: 0, pipelineCounts: [0, 1], isUnknownFirst: true };
    assert.equal((await awaitEnd(unknownFirst)).isExpired, true);
  });

  /** Records a bundle with a failed transaction and one that no node knows, and awaits the end of the batch beside it. */
  async function awaitEnd({
    isUnknownFirst = false,
    ...positions
  }: Pick<Bundle, 'firstPipeline' | 'pipelineCounts'> & { readonly isUnknownFirst?: boolean }) {
    const chain = createChain({ rpcUrls: [world.localnet.url] }).view();
    const [landed] = await findBundles(world.db, batch.id, 'execution');
    const [known, wire] = [landed?.signatures[0], landed?.transactions[0]];
    assert.ok(known && wire && landed?.landedSlot);
    const unknown = signature('1'.repeat(64)); // no node knows it
    const lastValidBlockHeight = (await chain.blockHeight()) + 150n;
    const row = await world.db
      .insertInto('bundles')
      .values({
        batch_id: batch.id,
        phase: 'execution',
        bundle_id: '0'.repeat(64),
        transactions: [wire, wire],
        signatures: isUnknownFirst ? [unknown, known] : [known, unknown],
        last_valid_block_height: lastValidBlockHeight,
        first_pipeline: positions.firstPipeline,
        pipeline_counts: [...positions.pipelineCounts],
        is_atomic: false,
        tip_lamports: 0n,
        state: 'failed',
        landed_signatures: [],
        landed_slot: landed.landedSlot,
        created_at: new Date(),
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    const clock = { now: () => new Date(), sleep: () => world.localnet.warp({ slots: 10n }) };
    const turn = { pause: <T>(wait: () => Promise<T>) => wait() };
    const deps = { chain, clock, db: world.db, turn } as unknown as RunDeps; // no more is used
    const final = await awaitFinality(deps, multisig, batch);
    const { blockHeight } = await chain.finalizedBlock();
    await world.db.deleteFrom('bundles').where('id', '=', row.id).execute();
    return { isExpired: blockHeight > lastValidBlockHeight, final };
  }
});

function result(value: unknown): GateAnswer {
  return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: '0', result: value }) };
}
