import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { lookBeforeSign } from '@flywheel/sdk';
import { generateKeyPairSigner } from '@solana/kit';
import { setUpBatch } from '../../service/test/execution/batches.ts';
import { createProject, type TestProject } from '../../service/test/project.ts';
import { openWorld, type World } from '../../service/test/world.ts';

describe('the look before signing', () => {
  let world: World;
  let project: TestProject;
  let wallet: string;
  before(async () => {
    world = await openWorld();
    project = await createProject(world);
    wallet = project.wallet.address;
  });
  after(() => world.stop());

  async function setUp() {
    const recipient = (await generateKeyPairSigner()).address;
    const pipelines = [
      {
        type: 'PRODUCT_PURCHASE',
        payload: '{"orderId":"ä 1"}',
        actions: [
          { action: 'BURN' as const, amount: 0.000001 },
          { action: 'AIRDROP' as const, toAddress: recipient, amount: 1_234.5 },
          { action: 'MEMO' as const, message: 'thank you ✓' },
        ],
      },
      { type: 'WATCH_AD', payload: '{"adId":"2"}', actions: [{ action: 'BURN' as const, amount: 7 }] },
    ];
    const opened = await setUpBatch(world, project, pipelines);
    return {
      proposalApproveTx: opened.proposalApproveTx as string,
      batch: {
        multisig: project.multisig,
        vaultAddress: project.vaultAddress,
        mintAddress: project.mintAddress,
        batchIndex: String(opened.batchIndex),
        pipelines,
      },
    };
  }

  it('finds nothing against an honest batch, and says what it does', async () => {
    const look = await lookBeforeSign(world.localnet.url, { wallet, ...(await setUp()) });
    assert.deepEqual({ faults: look.approvalFaults, differences: look.differences }, { faults: [], differences: [] });
    assert.ok(look.isSafe);
    assert.equal(look.onChain.proposal.status, 'Active');
    assert.deepEqual(
      look.approval.steps.map(({ kind }) => kind),
      ['nonce', 'computeLimit', 'computePrice', 'vote', 'vote'],
    );
  });

  it('finds an amount, a recipient, a payload and an order that differ from the chain', async () => {
    const { batch, proposalApproveTx } = await setUp();
    const [first, second] = batch.pipelines;
    assert.ok(first && second);
    const stranger = (await generateKeyPairSigner()).address;
    const lies = [
      [{ ...first, actions: first.actions.map((it) => (it.action === 'BURN' ? { ...it, amount: 1 } : it)) }, second],
      [
        { ...first, actions: first.actions.map((it) => ('toAddress' in it ? { ...it, toAddress: stranger } : it)) },
        second,
      ],
      [{ ...first, payload: '{"orderId":"ä 2"}' }, second],
      [{ ...first, actions: first.actions.slice(0, 2) }, second],
      [second, first],
      [first],
      [first, second, second],
    ];
    for (const pipelines of lies) {
      const look = await lookBeforeSign(world.localnet.url, {
        wallet,
        proposalApproveTx,
        batch: { ...batch, pipelines },
      });
      assert.equal(look.isSafe, false, JSON.stringify(pipelines));
      assert.ok(look.differences.length > 0);
    }
  });

  it('finds an approval of another batch, and one that is for another wallet', async () => {
    const [mine, other] = [await setUp(), await setUp()];
    const swapped = await lookBeforeSign(world.localnet.url, {
      ...mine,
      wallet,
      proposalApproveTx: other.proposalApproveTx,
    });
    assert.match(swapped.approvalFaults.join(' '), /approves another proposal/);
    const stranger = (await generateKeyPairSigner()).address;
    const foreign = await lookBeforeSign(world.localnet.url, { ...mine, wallet: stranger });
    assert.equal(foreign.isSafe, false);
    assert.match(foreign.differences.map(({ text }) => text).join(' '), /has no vote/);
  });

  it('finds a vault that is not the multisig’s', async () => {
    const { batch, proposalApproveTx } = await setUp();
    const vaultAddress = (await generateKeyPairSigner()).address;
    const look = await lookBeforeSign(world.localnet.url, {
      wallet,
      proposalApproveTx,
      batch: { ...batch, vaultAddress },
    });
    assert.match(look.differences.map(({ text }) => text).join(' '), /The vault shown is/);
  });
});
