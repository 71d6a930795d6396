import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertError, executeSigned, readBatch, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { readBatchOnChain, tokenBalance, tokenSupply } from '@flywheel/testing/chain';
import { airdropPipeline, burnPipeline, execute, heavyBurnPipeline, init, send } from '@flywheel/testing/client';
import { ENGINES, type GatedWorld, holdSends, openGatedWorld } from '@flywheel/testing/gate';
import { createOwnMint, freeze, mintTo } from '@flywheel/testing/mints';
import { createProject, requireOk } from '@flywheel/testing/project';
import { REAL_FINALITY } from '@flywheel/testing/slots';
import { openWorld, type World } from '@flywheel/testing/world';
import { address, generateKeyPairSigner } from '@solana/kit';

/** More pipelines than one bundle holds. */
const PIPELINES = 20;
/** Position of the pipeline whose recipient's account is frozen while the batch runs. */
const FAILING = 18;

for (const engine of ENGINES) {
  describe(`a batch with a pipeline that fails on chain, ${engine.name}`, engine.options, () => {
    let world: GatedWorld;
    before(async () => {
      world = await openGatedWorld(engine.environment, REAL_FINALITY);
    });
    after(() => world.stop());

    it('is FAILED: earlier pipelines stay executed, later ones never run, the unused limit returns', async () => {
      const mint = await createOwnMint(world, false);
      const project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n, burnLimit: '30' });
      await mintTo(world, mint, address(project.vaultAddress), 10n ** 9n);
      const recipient = (await generateKeyPairSigner()).address;
      const tokenAccount = await mintTo(world, mint, recipient, 1n);
      const pipelines = Array.from({ length: PIPELINES }, (_, i) =>
        i === FAILING ? airdropPipeline(recipient, 1) : heavyBurnPipeline(),
      );
      const supply = await tokenSupply(world, mint.address);
      const batch = await setUpBatch(world, project, pipelines);
      const hold = holdSends(world, engine, project, batch.batchIndex);
      const answer = executeSigned(world, project, batch, { prefer: 'wait=60' });
      await hold.reached;
      await freeze(world, mint, tokenAccount);
      hold.release();
      const failed = await waitUntil(
        'the failure',
        async () => {
          const { status } = await readBatch(world, project, batch.id);
          return { status, finalizedSlot: await world.rpc.getSlot({ commitment: 'finalized' }).send() };
        },
        ({ status }) => status === 'FAILED',
      );
      assert.ok(failed.finalizedSlot >= (await lastLandedSlot(batch.id)), 'a fork could still undo the failure');
      const { status, result } = requireOk(await answer);
      assert.equal(status, 'FAILED');
      const {
        successfulExecutions,
        failedTxMsg,
        failedStartTransactionIndex,
        failedRecipient,
        heldRecipients,
        ...counts
      } = result;
      assert.deepEqual(counts, {
        total: PIPELINES,
        totalSuccessful: FAILING,
        totalFailed: PIPELINES - FAILING,
        failedOnTransactionIndex: FAILING,
      });
      assert.ok(failedStartTransactionIndex <= FAILING);
      assert.deepEqual(heldRecipients, [recipient]);
      const { reason, ...place } = failedRecipient;
      assert.deepEqual(place, { pipeline: FAILING, action: 0, recipient });
      assert.match(reason, /frozen token account/);
      // Error 17 of the token programs: the account is frozen.
      assert.match(failedTxMsg, /pipelines\[18\].*"Custom":17/);
      const signatures = successfulExecutions.flatMap(({ txHashes }: { txHashes: string[] }) => txHashes);
      assert.equal(new Set(signatures).size, signatures.length);
      assert.equal(await tokenSupply(world, mint.address), supply - BigInt(FAILING) * 1_000_000n);
      assert.equal(await tokenBalance(world, mint.address, recipient), 1n);

      for (const signedTx of [batch.signedTx, 'garbage']) {
        const again = requireOk(await executeSigned(world, project, { ...batch, signedTx }));
        assert.deepEqual([again.status, again.result], ['FAILED', result]);
      }
      assert.deepEqual((await readBatch(world, project, batch.id)).executeResult, result);
      const refused = await init(world.url, project.apiKey, [burnPipeline(13)]);
      assertError(refused, 400, 'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED', /18 are used/);
      requireOk(await init(world.url, project.apiKey, [burnPipeline(12)]));

      const cancelled = await send(world.url, 'POST', `/v1/flywheel/batch/${batch.id}/cancel`, {
        key: project.apiKey,
        body: {},
      });
      assert.ok(requireOk(cancelled).cancelTx, 'the chain needs the wallet’s cancel before the rent comes back');
    });

    async function lastLandedSlot(batchId: string): Promise<bigint> {
      const bundles = world.db.selectFrom('bundles').where('batch_id', '=', batchId).where('phase', '=', 'execution');
      const { slot } = await bundles.select(({ fn }) => fn.max('landed_slot').as('slot')).executeTakeFirstOrThrow();
      assert.ok(slot);
      return slot;
    }
  });
}

describe('an underfunded vault', () => {
  let world: World;
  before(async () => {
    world = await openWorld();
  });
  after(() => world.stop());

  it('is answered with what is missing, nothing is sent, and the same signature works after a deposit', async () => {
    const project = await createProject(world, { vaultBaseUnits: 1_000_000n, vaultLamports: 0n });
    const recipient = (await generateKeyPairSigner()).address;
    const batch = await setUpBatch(world, project, [burnPipeline(2), airdropPipeline(recipient, 0.5)]);
    const refused = await executeSigned(world, project, batch);
    assertError(refused, 409, 'ERR_VAULT_UNDERFUNDED', /1\.5 more.*the approval stays valid/);
    assert.match(refused.body.message, /2039280/);
    const { proposal } = await readBatchOnChain(world, project, batch.batchIndex);
    assert.deepEqual([proposal.status, proposal.approved], ['Active', []]);
    await world.localnet.bank.mintTo(project.mint, address(project.vaultAddress), 1_500_000n);
    await world.localnet.bank.airdrop(address(project.vaultAddress), 10_000_000n);
    assert.equal(requireOk(await executeSigned(world, project, batch)).status, 'EXECUTED');
    assert.equal(await tokenBalance(world, project.mint, recipient), 500_000n);
  });
});

describe('twenty simultaneous execute requests', () => {
  it('execute the batch once, and all receive the same result', async () => {
    const world = await openWorld();
    try {
      const project = await createProject(world);
      const batch = await setUpBatch(world, project, [burnPipeline(3), burnPipeline(4)]);
      const supply = await tokenSupply(world, project.mint);
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => execute(world.url, project.apiKey, batch.id, batch.signedTx)),
      );
      const results = new Set(answers.map((answer) => JSON.stringify(requireOk(answer))));
      assert.equal(results.size, 1);
      assert.equal(await tokenSupply(world, project.mint), supply - 7_000_000n);
      assert.equal((await readBatch(world, project, batch.id)).executeResult?.totalSuccessful, 2);
    } finally {
      await world.stop();
    }
  });
});
