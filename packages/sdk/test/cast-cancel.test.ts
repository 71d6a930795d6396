import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  airdrop,
  burn,
  castCancel,
  createFlywheelClient,
  type FlywheelClient,
  isFlywheelError,
  pipeline,
  runBatch,
} from '@flywheel/sdk';
import { executeSigned, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { readBatchOnChain } from '@flywheel/testing/chain';
import { ENGINES, type GatedWorld, holdSends, openGate, openGatedWorld } from '@flywheel/testing/gate';
import { createOwnMint, freeze, mintTo, type OwnMint } from '@flywheel/testing/mints';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { type Address, address, generateKeyPairSigner } from '@solana/kit';

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

  /** Two of these pipelines fill a transaction, so that the execution has a middle. */
  async function preparePipelines() {
    const recipient = (await generateKeyPairSigner()).address;
    const tokenAccount = await mintTo(world, mint, recipient, 1n);
    const pipelines = [burn(1), burn(1), burn(1), airdrop(recipient, 1)].map((action) =>
      pipeline('WATCH_AD', { adId: crypto.randomUUID() }, ...Array.from({ length: 20 }, () => burn(1)), action),
    );
    return { pipelines, freezeMidway: (batchIndex: bigint) => freezeMidway(batchIndex, tokenAccount) };
  }

  async function freezeMidway(batchIndex: bigint, tokenAccount: Address): Promise<void> {
    const hold = holdSends(world, ENGINE, project, batchIndex);
    await hold.reached;
    await freeze(world, mint, tokenAccount);
    hold.release();
  }

  async function failMidway(): Promise<{ readonly id: string; readonly batchIndex: bigint }> {
    const { pipelines, freezeMidway } = await preparePipelines();
    const batch = await setUpBatch(world, project, pipelines);
    const frozen = freezeMidway(batch.batchIndex);
    assert.equal(requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' })).status, 'FAILED');
    await frozen;
    world.gate.clear();
    return batch;
  }

  const untilClosed = (client: FlywheelClient, id: string) =>
    waitUntil(
      'the ledger to be complete',
      async () => (await client.getBatch(id, { include: ['ledger'] })).ledger,
      (ledger) => ledger?.isComplete === true,
    );

  it('is called by runBatch after a failure, for the multisig that it has verified', async () => {
    const client = clientOf();
    const lying: FlywheelClient = {
      ...client,
      getBatch: async (...asked) => {
        const batch = await client.getBatch(...asked);
        return batch.status === 'FAILED' ? { ...batch, multisig: mint.address } : batch;
      },
    };
    const { pipelines, freezeMidway } = await preparePipelines();
    const stages: string[] = [];
    let frozen: Promise<void> | undefined;
    let voteError: unknown;
    const batch = await runBatch(lying, pipelines, {
      wallet: project.wallet,
      verify: { rpcUrl: world.localnet.url },
      onProgress: (event) => {
        stages.push(event.stage);
        if (event.stage === 'cancelVote') voteError = event.error;
        if (event.stage === 'setUp') frozen = freezeMidway(BigInt(event.batch.batchIndex));
      },
    });
    await frozen;
    world.gate.clear();
    assert.deepEqual([batch.status, stages.slice(-2)], ['FAILED', ['cancelVote', 'ended']]);
    assert.equal(voteError, null);
    await untilClosed(client, batch.id);
  });

  it('casts the wallet’s vote once, after which the rent returns', async () => {
    const client = clientOf();
    const batch = await failMidway();
    const options = { wallet: project.wallet, rpcUrl: world.localnet.url };
    const signature = await castCancel(client, batch.id, options);
    assert.match(signature ?? '', /^\w{64,88}$/);
    await untilClosed(client, batch.id);
    assert.equal(await castCancel(client, batch.id, options), null);
  });

  it('waits for a node that is some slots behind the one of the service', async (t) => {
    const client = clientOf();
    const batch = await failMidway();
    let refused = 0;
    const node = await openGate(world.localnet);
    t.after(() => node.stop());
    node.intercept('sendTransaction', async (_call, pass) => {
      if (refused === 2) return pass();
      refused += 1;
      const data = { err: 'BlockhashNotFound', logs: [], unitsConsumed: 0 };
      const error = { code: -32_002, message: 'Transaction simulation failed: Blockhash not found', data };
      return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: 1, error }) };
    });
    const rpcUrl = node.environment.SOLANA_RPC_URL ?? '';
    const signature = await castCancel(client, batch.id, { wallet: project.wallet, rpcUrl });
    assert.deepEqual([typeof signature, refused], ['string', 2]);
    await untilClosed(client, batch.id);
  });

  it('does not change a batch that has not failed', async () => {
    const client = clientOf();
    const batch = await setUpBatch(world, project, [pipeline('WATCH_AD', { adId: 'open' }, burn(1))]);
    assert.equal(await castCancel(client, batch.id, { wallet: project.wallet, rpcUrl: world.localnet.url }), null);
    assert.equal((await client.getBatch(batch.id)).status, 'FINALIZED');
  });

  it('signs only the vote on this batch', async () => {
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
