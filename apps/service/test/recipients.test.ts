import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Pipeline } from '@flywheel/api';
import { assertError, executeSigned, readBatch, setUpBatch } from '@flywheel/testing/batches';
import { land, tokenBalance } from '@flywheel/testing/chain';
import { airdropPipeline, burnPipeline, getBatch, init, send } from '@flywheel/testing/client';
import { ENGINES, type GatedWorld, holdSends, openGatedWorld } from '@flywheel/testing/gate';
import {
  createFreezableMint,
  createOwnMint,
  freezeNewAccounts,
  fundedSigner,
  mintTo,
  type OwnMint,
} from '@flywheel/testing/mints';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { address, generateKeyPairSigner, type KeyPairSigner } from '@solana/kit';
import {
  ExtensionType,
  getDisableMemoTransfersInstruction,
  getEnableMemoTransfersInstruction,
  getReallocateInstruction,
} from '@solana-program/token-2022';

/** Two of them fill a transaction, so that they are more than one bundle holds and the execution has a middle. */
const BEFORE = Array.from({ length: 12 }, () => ({
  ...burnPipeline(),
  actions: Array.from({ length: 20 }, () => ({ action: 'BURN', amount: 1 }) as const),
}));

for (const engine of ENGINES) {
  describe(`a recipient who stops every batch, ${engine.name}`, engine.options, () => {
    let world: GatedWorld;
    let mint: OwnMint;
    let project: TestProject;
    let saboteur: KeyPairSigner;
    let sabotage: { readonly on: () => Promise<void>; readonly off: () => Promise<void> };
    before(async () => {
      world = await openGatedWorld(engine.environment);
      mint = await createOwnMint(world, true);
      project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
      await mintTo(world, mint, address(project.vaultAddress), 10n ** 9n);
      saboteur = await fundedSigner(world);
      sabotage = await prepareSabotage();
    });
    after(() => world.stop());

    it('delays the others by one batch, and each of them is paid once', async () => {
      const others = await Promise.all(Array.from({ length: 3 }, async () => (await generateKeyPairSigner()).address));
      const payments = others.map((other) => airdropPipeline(other, 2));
      const bad: Pipeline = {
        ...airdropPipeline(saboteur.address),
        actions: [
          { action: 'BURN', amount: 1 },
          { action: 'AIRDROP', toAddress: saboteur.address, amount: 1 },
        ],
      };
      const batch = await setUpBatch(world, project, [...BEFORE, bad, ...payments]);
      const hold = holdSends(world, engine, project, batch.batchIndex);
      const answer = executeSigned(world, project, batch, { prefer: 'wait=60' });
      await hold.reached;
      await sabotage.on();
      hold.release();
      const { status, result, rest, heldBack } = requireOk(await answer);
      world.gate.clear();
      assert.equal(status, 'FAILED');
      const { reason, ...place } = result.failedRecipient;
      assert.deepEqual(place, { pipeline: BEFORE.length, action: 1, recipient: saboteur.address });
      assert.match(reason, /memo/);
      assert.deepEqual([rest, heldBack], [{ pipelines: payments }, { pipelines: [bad] }]);
      assert.deepEqual(
        { rest, heldBack },
        pick(requireOk(await getBatch(world.url, project.apiKey, batch.id, '?include=rest'))),
      );
      const cancelled = requireOk(
        await send(world.url, 'POST', `/v1/flywheel/batch/${batch.id}/cancel`, { key: project.apiKey, body: {} }),
      );
      assert.deepEqual(pick(cancelled), { rest, heldBack });
      assert.ok(cancelled.cancelTx);

      // The next batches pay the recipient again: init says which pipelines to send apart, before anything is set up.
      const mixed = await init(world.url, project.apiKey, [payments[0], bad]);
      assertError(mixed, 409, 'ERR_RECIPIENT_HELD_BACK', /pipelines\[1\]\.actions\[1\]\.toAddress/);
      const [problem] = mixed.body.problems;
      assert.deepEqual([problem.place, problem.recipient], ['pipelines[1].actions[1].toAddress', saboteur.address]);
      const preview = await send(world.url, 'POST', '/v1/flywheel/batch/preview', {
        key: project.apiKey,
        body: { pipelines: [payments[0], bad] },
      });
      assert.equal(requireOk(preview).problems[0].code, 'ERR_RECIPIENT_HELD_BACK');

      await executed(rest.pipelines);
      for (const other of others) assert.equal(await tokenBalance(world, mint.address, other), 2_000_000n);

      const alone = await setUpBatch(world, project, heldBack.pipelines);
      const refused = await executeSigned(world, project, alone);
      assertError(refused, 409, 'ERR_BATCH_WOULD_FAIL', /memo/);
      assert.equal(refused.body.problems[0].recipient, saboteur.address);
      await sabotage.off();
      assert.equal(requireOk(await executeSigned(world, project, alone)).status, 'EXECUTED');
      assert.equal(await tokenBalance(world, mint.address, saboteur.address), 1_000_000n);
      // Paid: a batch may pay him and others again.
      await executed([airdropPipeline(saboteur.address), airdropPipeline(others[0] ?? '')]);
    });

    it('is also held back if the check before the approval finds it', async () => {
      const other = (await generateKeyPairSigner()).address;
      const payment = airdropPipeline(other, 3);
      const batch = await setUpBatch(world, project, [airdropPipeline(saboteur.address), payment]);
      await sabotage.on();
      const refused = await executeSigned(world, project, batch);
      await sabotage.off();
      assertError(refused, 409, 'ERR_BATCH_WOULD_FAIL', /pipelines\[0\]\.actions\[0\]/);
      const { rest } = requireOk(
        await send(world.url, 'POST', `/v1/flywheel/batch/${batch.id}/cancel`, { key: project.apiKey, body: {} }),
      );
      assert.deepEqual(rest, { pipelines: [payment] });
      const { executeResult } = await readBatch(world, project, batch.id);
      assert.deepEqual(executeResult?.heldRecipients, [saboteur.address]);
      await executed(rest.pipelines);
      assert.equal(await tokenBalance(world, mint.address, other), 3_000_000n);
      assertError(
        await init(world.url, project.apiKey, [airdropPipeline(saboteur.address), burnPipeline()]),
        409,
        'ERR_RECIPIENT_HELD_BACK',
        /./,
      );
      await executed([airdropPipeline(saboteur.address), airdropPipeline(saboteur.address)]);
    });

    it('is not taken for one when the issuer lets the mint freeze new token accounts', async () => {
      const freezable = await createFreezableMint(world);
      const own = await createProject(world, { mint: freezable.address, vaultBaseUnits: 0n });
      await mintTo(world, freezable, address(own.vaultAddress), 10n ** 9n);
      const payment = airdropPipeline((await generateKeyPairSigner()).address);
      const batch = await setUpBatch(world, own, [...BEFORE, payment]);
      const hold = holdSends(world, engine, own, batch.batchIndex);
      const answer = executeSigned(world, own, batch, { prefer: 'wait=60' });
      await hold.reached;
      await freezeNewAccounts(world, freezable);
      hold.release();
      const { status, result, heldBack } = requireOk(await answer);
      world.gate.clear();
      assert.deepEqual([status, result.failedRecipient, heldBack], ['FAILED', undefined, undefined]);
      assert.match(result.failedTxMsg, /"Custom":17/);
    });

    async function executed(pipelines: readonly Pipeline[]): Promise<void> {
      const batch = await setUpBatch(world, project, pipelines);
      const { status } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
      assert.equal(status, 'EXECUTED');
      const { rest, heldBack } = pick(await readBatch(world, project, batch.id));
      assert.deepEqual([rest, heldBack], [undefined, undefined]);
    }

    /** A token account that demands a memo with each transfer refuses every airdrop. */
    async function prepareSabotage() {
      const token = await mintTo(world, mint, saboteur.address, 0n);
      await land(world, saboteur, [
        getReallocateInstruction({
          token,
          payer: saboteur,
          owner: saboteur,
          newExtensionTypes: [ExtensionType.MemoTransfer],
        }),
      ]);
      const [on, off] = [
        getEnableMemoTransfersInstruction({ token, owner: saboteur }),
        getDisableMemoTransfersInstruction({ token, owner: saboteur }),
      ];
      return { on: () => land(world, saboteur, [on]), off: () => land(world, saboteur, [off]) };
    }
  });
}

function pick({ rest, heldBack }: { readonly rest?: unknown; readonly heldBack?: unknown }) {
  return { rest, heldBack };
}
