import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, openBatch, readBatch, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { findMultisig, land } from '@flywheel/testing/chain';
import { burnPipeline } from '@flywheel/testing/client';
import { type GatedWorld, openGatedWorld } from '@flywheel/testing/gate';
import { createProject, requireOk } from '@flywheel/testing/project';
import { newPipeline, randomAddress } from '@flywheel/testing/records';
import { finalizeSlots, pauseSlots, REAL_FINALITY, resumeSlots } from '@flywheel/testing/slots';
import { rotateWallet } from '@flywheel/testing/treasury';
import { addSignersToInstruction, generateKeyPairSigner, type Instruction } from '@solana/kit';
import type { Multisig } from '../../src/model/project.ts';
import { batchCreate, locateBatch, proposalActivate, proposalCreate } from '../../src/squads/instructions.ts';
import { encodeReplacement, rotationSetupGroup } from '../../src/squads/rotation.ts';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { isClosed } from '../../src/store/batches/ends.ts';

describe('an index that another transaction has used', () => {
  let world: GatedWorld;
  before(async () => {
    world = await openGatedWorld({ LOG_LEVEL: 'fatal' }, REAL_FINALITY);
  });
  after(() => world.stop());

  it('raises the next index no higher than what is finalized: a gap would block all later batches', async () => {
    const project = await createProject(world);
    const multisig = await findMultisig(world, project);
    await useIndex(multisig, 1n);
    await finalizeSlots(world);
    let firstSlot = 0n;
    world.gate.intercept('getMultipleAccounts', async ({ params: [addresses, config] }, pass) => {
      const answer = await pass();
      // Finalized is the default, which kit leaves out.
      const isFinal = Object(config).commitment !== 'confirmed';
      const isDecision = isFinal && Array.isArray(addresses) && addresses.includes(multisig.address);
      if (!isDecision || firstSlot !== 0n) return answer;
      // A second index is used, and only confirmed, while the service decides about the first one.
      firstSlot = await world.rpc.getSlot({ commitment: 'processed' }).send();
      await useIndex(multisig, 2n);
      await pauseSlots(world);
      return answer;
    });
    const refused = await openBatch(world, project, [burnPipeline(1)]);
    const { initResult } = await waitForBatch(world, project, refused.id, ({ status }) => status === 'FAILED');
    assert.match(initResult?.failedTxMsg ?? '', /Index 1 was taken/);
    world.gate.clear();
    const current = await world.rpc.getSlot({ commitment: 'processed' }).send();
    assert.ok(firstSlot > 0n);
    world.localnet.fork({ slots: current - firstSlot });
    await resumeSlots(world);
    const next = await openBatch(world, project, [burnPipeline(1)]);
    const { batchIndex } = await waitForBatch(world, project, next.id, ({ status }) => status === 'FINALIZED');
    assert.equal(batchIndex, '2');
  });

  it('ends the batch that needs it, and neither one that executes meanwhile nor one behind', async () => {
    const project = await createProject(world);
    const multisig = await findMultisig(world, project);
    const executing = await setUpBatch(world, project, [burnPipeline(1)]);
    const sends = world.gate.hold(world.localnet.blockEngineUrl ? 'sendBundle' : 'sendTransaction');
    const executed = executeSigned(world, project, executing, { prefer: 'wait=60' });
    await sends.reached;
    await useIndex(multisig, 2n);
    await finalizeSlots(world);
    const refused = await openBatch(world, project, [burnPipeline(1)]);
    await waitForBatch(world, project, refused.id, ({ status }) => status === 'FAILED');
    assert.equal((await readBatch(world, project, executing.id)).status, 'FINALIZED', 'it still executes');
    sends.release();
    assert.equal(requireOk(await executed).status, 'EXECUTED');
    const next = await setUpBatch(world, project, [burnPipeline(1)]);
    assert.equal(requireOk(await executeSigned(world, project, next, { prefer: 'wait=60' })).status, 'EXECUTED');
  });

  it('ends the batch also if the index holds no batch, and both lanes of the project go on', async () => {
    const project = await createProject(world);
    const multisig = await findMultisig(world, project);
    // A rotation, as the service may have begun before its database was restored.
    const [from, to] = [multisig.wallet, randomAddress()];
    const pipelines = [newPipeline({ vaultMessage: encodeReplacement({ approver: 'wallet', from, to }) })];
    await landAsOperator(rotationSetupGroup(multisig, { batchIndex: 1n, pipelines }).instructions);
    await finalizeSlots(world);
    const refused = await openBatch(world, project, [burnPipeline(1)]);
    const { initResult } = await waitForBatch(world, project, refused.id, ({ status }) => status === 'FAILED');
    assert.match(initResult?.failedTxMsg ?? '', /Index 1 was taken/);
    const next = await setUpBatch(world, project, [burnPipeline(1)]);
    assert.equal(requireOk(await executeSigned(world, project, next, { prefer: 'wait=60' })).status, 'EXECUTED');
  });

  it('ends a rotation that needs it, and sends nothing to close what is not the rotation’s', async () => {
    const project = await createProject(world);
    await useIndex(await findMultisig(world, project), 1n);
    await finalizeSlots(world);
    const { batchId } = requireOk(await rotateWallet(world, project, await generateKeyPairSigner()));
    await waitUntil(
      'the closing',
      () => isClosed(world.db, batchId),
      (closed) => closed,
    );
    assert.deepEqual(await findBundles(world.db, batchId), []);
    const next = await setUpBatch(world, project, [burnPipeline(1)]);
    assert.equal(requireOk(await executeSigned(world, project, next, { prefer: 'wait=60' })).status, 'EXECUTED');
  });

  /** Creates an empty batch and opens it for votes, as another database with the same signers could. */
  async function useIndex(multisig: Multisig, batchIndex: bigint): Promise<void> {
    const located = locateBatch(multisig, batchIndex);
    const instructions = [batchCreate(located), proposalCreate(located), proposalActivate(located)];
    await landAsOperator(instructions);
  }

  async function landAsOperator(instructions: readonly Instruction[]): Promise<void> {
    const signed = instructions.map((instruction) => addSignersToInstruction([world.operator], instruction));
    await land(world, world.operator, signed);
  }
});
