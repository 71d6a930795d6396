import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertError, executeSigned, readBatch, setUpBatch } from '@flywheel/testing/batches';
import { findMultisig, land, readBatchOnChain, tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline, init } from '@flywheel/testing/client';
import { createProject, requireOk } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { loadSigner } from '../../src/solana/signer.ts';
import { locateBatch, proposalApprove, proposalReject } from '../../src/squads/instructions.ts';

describe('a batch whose state on chain differs', () => {
  let world: World;
  before(async () => {
    world = await openWorld();
  });
  after(() => world.stop());

  it('is approved by the company alone if the wallet has already voted on chain', async () => {
    const project = await createProject(world);
    const multisig = await findMultisig(world, project);
    const batch = await setUpBatch(world, project, [burnPipeline(), burnPipeline()]);
    const supply = await tokenSupply(world, project.mint);
    const located = locateBatch(multisig, batch.batchIndex);
    await land(world, project.wallet, [proposalApprove(located, project.wallet.address)]);
    const { proposal } = await readBatchOnChain(world, project, batch.batchIndex);
    assert.deepEqual([proposal.status, proposal.approved], ['Active', [project.wallet.address]]);
    const { status, result } = requireOk(await executeSigned(world, project, batch));
    assert.deepEqual([status, result.totalSuccessful], ['EXECUTED', 2]);
    assert.equal(await tokenSupply(world, project.mint), supply - 2_000_000n);
  });

  it('needs the votes of both keys on chain: with one it stays active, and the operator has none', async () => {
    const project = await createProject(world);
    const multisig = await findMultisig(world, project);
    const company = await loadSigner(world.environment.COMPANY_SIGNER ?? '');
    await world.localnet.bank.airdrop(company.address, 1_000_000_000n);
    for (const signer of [project.wallet, company]) {
      const { batchIndex } = await setUpBatch(world, project, [burnPipeline()]);
      const located = locateBatch(multisig, batchIndex);
      await land(world, signer, [proposalApprove(located, signer.address)]);
      const { proposal } = await readBatchOnChain(world, project, batchIndex);
      assert.deepEqual([proposal.status, proposal.approved], ['Active', [signer.address]]);
      const vote = land(world, world.operator, [proposalApprove(located, world.operator.address)]);
      // Squads, `Unauthorized`.
      await assert.rejects(vote, ({ cause }: Error) => String(cause).includes('#6004'));
    }
  });

  it('still needs the wallet’s signature in a request, even if the wallet has voted on chain', async () => {
    const project = await createProject(world);
    const multisig = await findMultisig(world, project);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    const located = locateBatch(multisig, batch.batchIndex);
    await land(world, project.wallet, [proposalApprove(located, project.wallet.address)]);
    const unsigned = { id: batch.id, signedTx: batch.proposalApproveTx };
    assertError(await executeSigned(world, project, unsigned), 400, 'ERR_SIGNED_TX_INVALID', /not signed/);
    assert.equal(requireOk(await executeSigned(world, project, batch)).status, 'EXECUTED');
  });

  it('can never be executed after the wallet has rejected it: 409, FAILED, limits returned', async () => {
    const project = await createProject(world, { burnLimit: '2' });
    const multisig = await findMultisig(world, project);
    const batch = await setUpBatch(world, project, [burnPipeline(), burnPipeline()]);
    const supply = await tokenSupply(world, project.mint);
    const located = locateBatch(multisig, batch.batchIndex);
    await land(world, project.wallet, [proposalReject(located, project.wallet.address)]);
    for (let repeat = 0; repeat < 2; repeat += 1) {
      const answer = await executeSigned(world, project, batch);
      assertError(answer, 409, 'ERR_BATCH_NOT_EXECUTABLE', /The proposal is (rejected|closed) on chain/);
    }
    await assertNeverSent(project, batch.id, 2);
    assert.equal(await tokenSupply(world, project.mint), supply);
    requireOk(await init(world.url, project.apiKey, [burnPipeline(2)]));
  });

  it('is not approved if the bytes on chain differ from the compiled ones: 409, FAILED, limits returned', async () => {
    const project = await createProject(world, { burnLimit: '3' });
    const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
    const supply = await tokenSupply(world, project.mint);
    const ofPipeline = (position: number) =>
      world.db
        .selectFrom('pipelines')
        .select('vault_message')
        .where('batch_id', '=', batch.id)
        .where('position', '=', position);
    // The stored message now differs from the one on chain: they must be equal, whichever is wrong.
    await world.db
      .updateTable('pipelines')
      .set({ vault_message: ofPipeline(0) })
      .where('batch_id', '=', batch.id)
      .where('position', '=', 1)
      .execute();
    const answer = await executeSigned(world, project, batch);
    assertError(answer, 409, 'ERR_BATCH_NOT_EXECUTABLE', /pipelines\[1\] is not what the chain holds at index 1/);
    await assertNeverSent(project, batch.id, 2);
    assert.equal(await tokenSupply(world, project.mint), supply);
    requireOk(await init(world.url, project.apiKey, [burnPipeline(3)]));
  });

  async function assertNeverSent(project: Parameters<typeof readBatch>[1], batchId: string, total: number) {
    const { status, executeResult } = await readBatch(world, project, batchId);
    assert.equal(status, 'FAILED');
    const { failedTxMsg, ...counts } = executeResult ?? {};
    assert.ok(failedTxMsg);
    // No pipeline was attempted, so there is no position to name.
    assert.deepEqual(counts, { total, totalSuccessful: 0, totalFailed: total, successfulExecutions: [] });
    const { sent } = await world.db
      .selectFrom('bundles')
      .select(({ fn }) => fn.countAll<bigint>().as('sent'))
      .where('batch_id', '=', batchId)
      .where('phase', '=', 'execution')
      .executeTakeFirstOrThrow();
    assert.equal(sent, 0n);
  }
});
