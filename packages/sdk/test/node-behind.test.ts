import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { burn, pipeline, verifyAndSign } from '@flywheel/sdk';
import { setUpBatch } from '@flywheel/testing/batches';
import { createProject, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { asDraft, openAlteringProxy } from './altering-proxy.ts';

describe('a Solana node that is behind the one of the service', () => {
  let world: World;
  let project: TestProject;
  before(async () => {
    world = await openWorld();
    project = await createProject(world);
  });
  after(() => world.stop());

  it('is read again by verifyAndSign while it shows the draft of a batch that is set up', async () => {
    const pipelines = [pipeline('WATCH_AD', { adId: '1' }, burn(1))];
    const { proposalApproveTx, batchIndex } = await setUpBatch(world, project, pipelines);
    let reads = 0;
    const node = await openAlteringProxy(world.localnet.url, (account) => {
      const draft = asDraft(Buffer.from(account));
      if (draft.equals(account)) return account;
      reads += 1;
      return reads <= 2 ? draft : account;
    });
    const { wallet, multisig, vaultAddress, mintAddress } = project;
    const batch = { multisig, vaultAddress, mintAddress, batchIndex: String(batchIndex), pipelines };
    try {
      assert.match(await verifyAndSign(node.url, { wallet, batch, proposalApproveTx }), /^[A-Za-z0-9+/]{64,}/);
      assert.equal(reads, 3);
    } finally {
      node.stop();
    }
  });
});
