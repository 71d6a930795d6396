import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { burn, createFlywheelClient, pipeline, verifyAndSign } from '@flywheel/sdk';
import { createCollector, createVolatileMemoryStore } from '@flywheel/sdk/collector';
import { setUpBatch } from '@flywheel/testing/batches';
import { createProject, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { asDraft, openAlteringProxy, openProxy, type RpcNode } from './altering-proxy.ts';

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

  it('is waited for by a collector, which pays when the node has caught up', async () => {
    let isBehind = true;
    const alter = (account: Buffer) => (isBehind ? asDraft(account) : account);
    const waits = await waitsOf(await openAlteringProxy(world.localnet.url, alter), () => {
      isBehind = false;
    });
    assert.match(waits, /^ERR_SIGNING_REFUSED .* The node shows only a draft of the batch\. It may be behind/);
  });

  it('is waited for by a collector while it answers with errors of its own', async () => {
    let isFailing = true;
    const failing = { jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'Internal error' } };
    const answer = (text: string) => (isFailing ? JSON.stringify(failing) : text);
    const waits = await waitsOf(await openProxy(world.localnet.url, answer), () => {
      isFailing = false;
    });
    assert.match(waits, /^ERR_UNEXPECTED_REPLY .*Internal error/);
  });

  /** Pays an event with a collector that verifies at a node, and says what it has waited for first. */
  async function waitsOf(node: RpcNode, onWaiting: () => void): Promise<string> {
    const waits: string[] = [];
    const collector = await createCollector({
      client: createFlywheelClient({ url: world.url, apiKey: project.apiKey }),
      store: createVolatileMemoryStore(),
      approval: { wallet: project.wallet, verify: { rpcUrl: node.url } },
      ...{ isLocalCluster: true, maxAgeMs: 0, retryMs: [10, 100] },
      onAlarm: (alarm) => {
        if (alarm.kind !== 'waiting') return;
        waits.push(`${alarm.code} ${alarm.message}`);
        onWaiting();
      },
    });
    try {
      await collector.collect({ id: node.url, type: 'WATCH_AD', payload: { adId: node.url }, actions: [burn(1)] });
      await collector.idle();
      assert.equal((await collector.status(node.url))?.state, 'paid');
    } finally {
      await collector.stop();
      node.stop();
    }
    return waits[0] ?? '';
  }
});
