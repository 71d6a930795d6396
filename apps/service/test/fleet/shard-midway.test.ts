import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Pipeline } from '@flywheel/api';
import { executeSigned, type OpenBatch, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { readBatchOnChain, tokenBalance, tokenSupply } from '@flywheel/testing/chain';
import { heavyBurnPipeline, send } from '@flywheel/testing/client';
import { instantClock } from '@flywheel/testing/clock';
import { ENGINES, type Hold, holdSends } from '@flywheel/testing/gate';
import { WITH_HAPROXY } from '@flywheel/testing/haproxy';
import { countOpenJobs, makeDue } from '@flywheel/testing/jobs';
import { createSeizableMint, mintTo, seize } from '@flywheel/testing/mints';
import { type ProjectOptions, requireOk, signIn, type TestProject } from '@flywheel/testing/project';
import { createProjectIn, type GatedShards, openGatedShards } from '@flywheel/testing/two-shards';
import { address } from '@solana/kit';
import { MoveRefused, type MoveStep, moveProject } from '../../src/projects/move-project.ts';
import { setPause } from '../company/operators.ts';
import { assertRentBack, type DepartedBundle, type DepartedRows, moveToSecond, typesOf } from './moves.ts';

/** More than two bundles hold: the one in flight when the project begins to move is not the last. */
const PIPELINES = 36;
const ONE_TOKEN = 1_000_000n;

interface Midway {
  readonly project: TestProject;
  readonly pipelines: readonly Pipeline[];
  readonly batch: OpenBatch & { readonly batchIndex: bigint };
  /** Holds what is sent after the pipelines that are executed. */
  readonly hold: Hold;
  readonly executed: number;
  readonly supply: bigint;
}

for (const engine of ENGINES) {
  const skip = WITH_HAPROXY.skip || ('skip' in engine.options && engine.options.skip);

  describe(`a project that moves in the middle of an execution, ${engine.name}`, { skip }, () => {
    let shards: GatedShards;
    before(async () => {
      shards = await openGatedShards(engine.environment);
    });
    after(() => shards?.stop());

    it('has each pipeline executed once, the rest in its new shard', async () => {
      const midway = await executeHalf();
      const departed = await moveToSecond(shards, midway.project, midway.hold.release);
      assertHalfExecuted(departed, midway);
      assert.deepEqual(typesOf(departed.jobs(midway.batch.id)), ['execute']);
      await assertExecutedOnce(midway);
    });

    it('is refused while the company pauses all projects of the source, and loses no job of those that the pause has stopped', async () => {
      const { first, second, operator } = shards;
      const cookie = await signIn(first.url, operator);
      const decider = { wallet: operator, address: operator.address, cookie };
      const midway = await executeHalf();
      const pauseAll = async (step: MoveStep) => {
        if (step !== 'refusing') return;
        await setPause(first, decider, 'all', true);
        midway.hold.release();
        await waitUntil(
          'the execution to stop',
          () => countOpenJobs(first, 'execute', midway.batch.id),
          (count) => count === 0,
        );
      };
      const { now, sleep } = instantClock();
      // Three attempts, instead of one each 200 ms.
      const clock = { now, sleep: () => sleep(10_000) };
      const moving = moveProject({ from: first.db, to: second.db, clock }, midway.project.projectId, pauseAll);
      await assert.rejects(moving, (error) => {
        return error instanceof MoveRefused && /the company has paused all projects/.test(error.message);
      });
      const { batch: onChain } = await readBatchOnChain(first, midway.project, midway.batch.batchIndex);
      assert.ok(onChain.executedTransactionIndex < PIPELINES);
      await setPause(first, decider, 'all', false);
      await moveToSecond(shards, midway.project);
      await assertExecutedOnce(midway);
    });

    it('continues in its new shard once its dry vault is filled', async () => {
      const { first, second, proxy } = shards;
      const mint = await createSeizableMint(first);
      const vaultTokens = BigInt(PIPELINES) * ONE_TOKEN;
      const midway = await executeHalf({ mint: mint.address, vaultBaseUnits: 0n }, (vault) =>
        mintTo(first, mint, address(vault), vaultTokens),
      );
      const { project, batch, hold, executed } = midway;
      const vault = address(project.vaultAddress);
      const missing = BigInt(PIPELINES - executed) * ONE_TOKEN;
      await seize(first, mint, vault, missing);
      hold.release();
      await waitForBatch(first, project, batch.id, ({ executionError }) => executionError !== undefined);
      const departed = await moveToSecond(shards, project);
      assertHalfExecuted(departed, midway);
      assert.equal(departed.batch(batch.id).execution_error?.code, 'ERR_VAULT_UNDERFUNDED');
      assert.deepEqual(typesOf(departed.jobs(batch.id)), ['execute']);

      const stuck = await waitForBatch(proxy, project, batch.id, () => true);
      assert.deepEqual([stuck.status, stuck.executionError?.code], ['FINALIZED', 'ERR_VAULT_UNDERFUNDED']);
      assert.equal(await tokenBalance(second, mint.address, vault), 0n);
      await mintTo(second, mint, vault, missing);
      await makeDue(second, 'execute', batch.id);
      // Seized tokens were burned, and minted again.
      await assertExecutedOnce(midway);
      assert.equal(await tokenBalance(second, mint.address, vault), 0n);
    });

    if (engine.name !== ENGINES[0].name) return;

    it('sends again in its new shard what was lost in the old one', async () => {
      const midway = await executeHalf();
      const departed = await moveToSecond(shards, midway.project, midway.hold.drop);
      assertHalfExecuted(departed, midway);
      const [landed, lost, ...others] = departed.bundles(midway.batch.id).map(hasLanded);
      assert.deepEqual([landed, lost, others], [true, false, []]);
      await assertExecutedOnce(midway);
    });

    /** Has the first shard execute a batch until its second bundle is sent. */
    async function executeHalf(
      options: ProjectOptions = {},
      fill: (vault: string) => Promise<unknown> = async () => undefined,
    ): Promise<Midway> {
      const { first, proxy } = shards;
      // The holder of the sends in the test before looks for a project that has left.
      first.gate.clear();
      const project = await createProjectIn(first, proxy, options);
      await fill(project.vaultAddress);
      const pipelines = Array.from({ length: PIPELINES }, heavyBurnPipeline);
      const batch = await setUpBatch(proxy, project, pipelines);
      const supply = await tokenSupply(first, project.mint);
      const hold = holdSends(first, engine, project, batch.batchIndex);
      assert.equal((await executeSigned(proxy, project, batch, { prefer: 'wait=0' })).status, 202);
      const executed = await hold.reached;
      return { project, pipelines, batch, hold, executed, supply };
    }

    /** Asserts that a batch left with an execution of which something has landed and nothing is in flight. */
    function assertHalfExecuted(departed: DepartedRows, { batch }: Midway): void {
      const { status, execution_began_at, closed_at } = departed.batch(batch.id);
      assert.deepEqual([status, execution_began_at !== null, closed_at], ['FINALIZED', true, null]);
      const bundles = departed.bundles(batch.id);
      assert.ok(bundles.every(({ state }) => state !== 'sent') && bundles.some(hasLanded), JSON.stringify(bundles));
    }

    async function assertExecutedOnce({ project, pipelines, batch, supply }: Midway): Promise<void> {
      const { second, proxy } = shards;
      const { executeResult } = await waitForBatch(proxy, project, batch.id, ({ status }) => status === 'EXECUTED');
      assert.deepEqual([executeResult?.totalSuccessful, executeResult?.totalFailed], [PIPELINES, 0]);
      const signatures = executeResult?.successfulExecutions.flatMap(({ txHashes }) => txHashes) ?? [];
      assert.equal(new Set(signatures).size, signatures.length);
      assert.equal(await tokenSupply(second, project.mint), supply - BigInt(PIPELINES) * ONE_TOKEN);
      for (const { type, payload } of pipelines) {
        const proof = requireOk(await send(second.url, 'POST', '/console/api/proof', { body: { type, payload } }));
        assert.deepEqual([proof.verdict, proof.pipelines.length], ['proven', 1]);
      }
      await assertRentBack(proxy, project, batch, 'EXECUTED');
    }
  });
}

/** Returns true if a bundle has landed, or over RPC a part of it. */
function hasLanded({ landed_signatures }: DepartedBundle): boolean {
  return landed_signatures.length > 0;
}
