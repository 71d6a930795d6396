import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { airdrop, burn, castCancel, createFlywheelClient, isFlywheelError, pipeline } from '@flywheel/sdk';
import { executeSigned, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { readBatchOnChain } from '@flywheel/testing/chain';
import { ENGINES, type GatedWorld, holdSends, openGatedWorld } from '@flywheel/testing/gate';
import { createOwnMint, freeze, mintTo, type OwnMint } from '@flywheel/testing/mints';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { address, generateKeyPairSigner } from '@solana/kit';

const [, ENGINE] = ENGINES;

describe('castCancel()', () => {
  let world: GatedWorld;
  let mint: OwnMint;
  let project: TestProject;
  before(async () => {
    world = await openGatedWorld(ENGINE.environment);
    mint = await createOwnMint(world, false);
    project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
    await mintTo(world, mint, address(project.vaultAddress), 10n ** 9n);
  });
  after(() => world.stop());

  const clientOf = () => createFlywheelClient({ url: world.url, apiKey: project.apiKey });

  async function failMidway(): Promise<{ readonly id: string; readonly batchIndex: bigint }> {
    const recipient = (await generateKeyPairSigner()).address;
    const tokenAccount = await mintTo(world, mint, recipient, 1n);
    // Two of them fill a transaction.
    const pipelines = [burn(1), burn(1), burn(1), airdrop(recipient, 1)].map((action) =>
      pipeline('WATCH_AD', { adId: crypto.randomUUID() }, ...Array.from({ length: 20 }, () => burn(1)), action),
    );
    const batch = await setUpBatch(world, project, pipelines);
    const hold = holdSends(world, ENGINE, project, batch.batchIndex);
    const answer = executeSigned(world, project, batch, { prefer: 'wait=60' });
    await hold.reached;
    await freeze(world, mint, tokenAccount);
    hold.release();
    assert.equal(requireOk(await answer).status, 'FAILED');
    world.gate.clear();
    return batch;
  }

  it('casts the wallet’s vote, after which the rent returns; then none is owed', async () => {
    const client = clientOf();
    const batch = await failMidway();
    const options = { wallet: project.wallet, rpcUrl: world.localnet.url };
    const signature = await castCancel(client, batch.id, options);
    assert.match(signature ?? '', /^\w{64,88}$/);
    await waitUntil(
      'the ledger to be complete',
      async () => (await client.getBatch(batch.id, { include: ['ledger'] })).ledger,
      (ledger) => ledger?.isComplete === true,
    );
    assert.equal(await castCancel(client, batch.id, options), null);
  });

  it('leaves a batch that has not failed as it is', async () => {
    const client = clientOf();
    const batch = await setUpBatch(world, project, [pipeline('WATCH_AD', { adId: 'open' }, burn(1))]);
    assert.equal(await castCancel(client, batch.id, { wallet: project.wallet, rpcUrl: world.localnet.url }), null);
    assert.equal((await client.getBatch(batch.id)).status, 'FINALIZED');
  });

  it('signs nothing but the vote on this batch', async () => {
    const client = clientOf();
    const [batch, other] = [await failMidway(), await failMidway()];
    const swapped = { ...client, cancelBatch: () => client.cancelBatch(other.id) };
    const options = { wallet: project.wallet, rpcUrl: world.localnet.url };
    await assert.rejects(castCancel(swapped, batch.id, options), (error) =>
      isFlywheelError(error, 'ERR_SIGNING_REFUSED'),
    );
    const { proposal } = await readBatchOnChain(world, project, other.batchIndex);
    assert.ok(!proposal.cancelled.includes(project.wallet.address));
  });
});
