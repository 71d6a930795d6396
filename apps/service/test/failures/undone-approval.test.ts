import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { executeSigned, readBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { tokenBalance } from '@flywheel/testing/chain';
import { airdropPipeline, burnPipeline } from '@flywheel/testing/client';
import { onlyLocal } from '@flywheel/testing/cluster';
import { changeTerms } from '@flywheel/testing/decisions';
import { type GatedWorld, openGatedWorld } from '@flywheel/testing/gate';
import { createProject, requireOk } from '@flywheel/testing/project';
import { advanceWithBundles, REAL_FINALITY, resumeSlots, setUpAndPause } from '@flywheel/testing/slots';
import { generateKeyPairSigner } from '@solana/kit';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { type Operator, openCompanyWorld, setRules } from '../company/operators.ts';

let world: GatedWorld;
let operator: Operator;
before(async () => {
  const opened = await openCompanyWorld({}, (environment) => openGatedWorld(environment, REAL_FINALITY));
  world = opened.world;
  [operator] = opened.operators;
});
after(() => world.stop());

it(
  'a batch whose approval a fork took away, and which a person would have to approve by now, ends',
  onlyLocal('fork'),
  async () => {
    const project = await createProject(world);
    const batch = await setUpAndPause(world, project, [burnPipeline(1)]);
    const answer = executeSigned(world, project, batch, { prefer: 'wait=60' });
    assert.equal(requireOk(await advanceWithBundles(world, batch.id, answer)).status, 'EXECUTED');
    requireOk(await changeTerms(world, operator, project, { approvalMode: 'manual' }));
    const [execution] = await findBundles(world.db, batch.id, 'execution');
    const slot = await world.rpc.getSlot({ commitment: 'processed' }).send();
    world.localnet.fork({ slots: slot - (execution?.landedSlot ?? assert.fail('Nothing has landed.')) });
    await resumeSlots(world);
    const { executeResult } = await waitForBatch(world, project, batch.id, ({ status }) => status === 'FAILED');
    assert.match(executeResult?.failedTxMsg ?? '', /^A fork undid the execution.*A person of the company/);
  },
);

it(
  'a batch whose execution a fork took away, and which the rules forbid by now, does not end while it may land again',
  onlyLocal('fork'),
  async () => {
    const project = await createProject(world);
    const recipient = (await generateKeyPairSigner()).address;
    const batch = await setUpAndPause(world, project, [airdropPipeline(recipient, 1)]);
    const answer = executeSigned(world, project, batch, { prefer: 'wait=60' });
    assert.equal(requireOk(await advanceWithBundles(world, batch.id, answer)).status, 'EXECUTED');
    await setRules(world, operator, project, { denied: [recipient] });
    const [execution] = await findBundles(world.db, batch.id, 'execution');
    const slot = await world.rpc.getSlot({ commitment: 'processed' }).send();
    const slots = slot - (execution?.landedSlot ?? assert.fail('Nothing has landed.'));
    let finalityReads = 0;
    world.gate.intercept('getEpochInfo', (_call, pass) => {
      finalityReads += 1;
      return pass();
    });
    world.localnet.fork({ slots });
    await world.localnet.warp({ slots: slots + 2n });
    await waitUntil(
      'the refusal',
      () => readBatch(world, project, batch.id),
      ({ status }) => status === 'FAILED' || finalityReads > 20,
    );
    // The next leaders take a transaction that a fork took away, while its blockhash lives.
    for (const wire of execution?.transactions ?? []) {
      await world.rpc.sendTransaction(wire, { encoding: 'base64', skipPreflight: true }).send();
      await world.localnet.warp();
    }
    await resumeSlots(world);
    const { status } = await waitUntil(
      'the final end',
      () =>
        world.db
          .selectFrom('batches')
          .select(['status', 'end_finalized_at'])
          .where('id', '=', batch.id)
          .executeTakeFirstOrThrow(),
      ({ end_finalized_at }) => end_finalized_at !== null,
    );
    assert.equal(await tokenBalance(world, project.mint, recipient), 1_000_000n);
    assert.equal(status, 'EXECUTED');
  },
);
