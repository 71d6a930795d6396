import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { writeMergedPayload } from '@flywheel/protocol';
import {
  airdrop,
  type BatchEvent,
  type BatchProgress,
  burn,
  byteSigner,
  createFlywheelClient,
  type FlywheelClient,
  isFlywheelError,
  type ProofQuery,
  pipeline,
  proof,
  runBatch,
  walletStandardSigner,
} from '@flywheel/sdk';
import { onlyLocal } from '@flywheel/testing/cluster';
import { createProject, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import {
  generateKeyPairSigner,
  getTransactionDecoder,
  getTransactionEncoder,
  partiallySignTransaction,
  signBytes,
} from '@solana/kit';

describe('the SDK with a service and its cluster', () => {
  let world: World;
  let project: TestProject;
  let client: FlywheelClient;
  let rpcUrl: string;
  before(async () => {
    world = await openWorld();
    project = await createProject(world);
    client = createFlywheelClient({ url: world.url, apiKey: project.apiKey });
    rpcUrl = world.localnet.url;
  });
  after(() => world.stop());

  async function pipelines() {
    const recipient = (await generateKeyPairSigner()).address;
    return [
      pipeline('PRODUCT_PURCHASE', { orderId: 'ä 1' }, burn('0.000001'), airdrop(recipient, 1_234.5)),
      pipeline('WATCH_AD', { adId: crypto.randomUUID() }, burn(7)),
    ];
  }

  it('runBatch verifies the batch on chain before it signs, and the chain proves each pipeline', async () => {
    const sent = await pipelines();
    const stages: string[] = [];
    const batch = await runBatch(client, sent, {
      wallet: project.wallet,
      verify: { rpcUrl, vaultAddress: project.vaultAddress, mintAddress: project.mintAddress },
      onProgress: ({ stage }) => stages.push(stage),
    });
    assert.equal(batch.status, 'EXECUTED');
    assert.deepEqual(stages, ['begun', 'compiled', 'setUp', 'verified', 'approved', 'ended']);

    const signatures = batch.executeResult?.successfulExecutions.flatMap(({ txHashes }) => txHashes) ?? [];
    const vault = project.vaultAddress;
    for (const { type, payload } of sent) {
      const verdicts = await Promise.all(
        signatures.map((signature) => proof.verifyOnChain(rpcUrl, { type, payload, signature, vault })),
      );
      const [proven, ...others] = verdicts.filter(({ isProven }) => isProven);
      assert.ok(proven && others.length === 0, JSON.stringify(verdicts));
      assert.equal(proven.memo, `flywheel:v1:${type}:${proof.hash({ type, payload })}`);
      assert.ok(proven.executedAt && proven.slot);
    }
  });

  it('verifyProofOnChain accepts no other payload, type, vault or transaction', async () => {
    const [sent] = await pipelines();
    assert.ok(sent);
    const { wallet, vaultAddress: vault } = project;
    const ads = ['{"adId":"1"}', '{"adId":"2"}'];
    const mergedPayload = writeMergedPayload('REFERRAL', ads);
    const merged = pipeline('REFERRAL', mergedPayload, burn(2));
    const batch = await runBatch(client, [sent, merged], { wallet, verify: { rpcUrl } });
    // Both pipelines fit one transaction.
    const signature = batch.executeResult?.successfulExecutions.flatMap(({ txHashes }) => txHashes).at(-1) ?? '';
    const question = { type: sent.type, payload: sent.payload, signature, vault };
    const ask = async (changes: Partial<ProofQuery>) => {
      const { isProven, reason } = await proof.verifyOnChain(rpcUrl, { ...question, ...changes });
      return isProven ? 'proven' : reason;
    };
    assert.equal(await ask({}), 'proven');
    assert.match((await ask({ payload: `${sent.payload} ` })) ?? '', /of other payloads/);
    assert.match(
      (await ask({ type: 'WATCH_AD' })) ?? '',
      /proofs of PRODUCT_PURCHASE, REFERRAL in this transaction, not of WATCH_AD/,
    );
    assert.match((await ask({ vault: wallet.address })) ?? '', /wrote no proof/);
    const [setUp = ''] = batch.initResult?.successfulExecutions.flatMap(({ txHashes }) => txHashes) ?? [];
    assert.match((await ask({ signature: setUp })) ?? '', /wrote no proof/);
    assert.match((await ask({ signature: '1'.repeat(64) })) ?? '', /knows no confirmed transaction/);

    const ofMerged = { type: 'REFERRAL', mergedPayload };
    for (const payload of ads) assert.equal(await ask({ ...ofMerged, payload }), 'proven');
    assert.match((await ask({ ...ofMerged, payload: '{"adId":"3"}' })) ?? '', /does not list this event/);
    assert.match(
      (await ask({ ...ofMerged, payload: '{"adId":"1"}', type: 'WATCH_AD' })) ?? '',
      /does not list this event/,
    );
    const other = writeMergedPayload('REFERRAL', ['{"adId":"1"}', '{"adId":"3"}']);
    const byOther = await ask({ ...ofMerged, payload: '{"adId":"1"}', mergedPayload: other });
    assert.match(byOther ?? '', /of other payloads/);
  });

  it(
    'verifyProofOnChain asks the next node if the first has pruned the transaction, keeps no history or is down',
    onlyLocal('forget its history'),
    async () => {
      const [sent] = await pipelines();
      assert.ok(sent);
      const pruned = `${rpcUrl}/nodes/pruned`;
      const verify = { rpcUrl: ['http://127.0.0.1:9', pruned] };
      const batch = await runBatch(client, [sent], { wallet: project.wallet, verify });
      const signature = batch.executeResult?.successfulExecutions.flatMap(({ txHashes }) => txHashes).at(-1) ?? '';
      const question = { ...sent, signature, vault: project.vaultAddress };
      await world.localnet.warp({ slots: 50n });
      for (const slots of [0, 10]) {
        world.localnet.faults.clear();
        world.localnet.faults.set({ kind: 'forgetHistory', method: '*', slots, node: 'pruned' });
        assert.equal((await proof.verifyOnChain([pruned, rpcUrl], question)).isProven, true, `${slots} slots are kept`);
        assert.equal((await proof.verifyOnChain(['http://127.0.0.1:9', rpcUrl], question)).isProven, true);
      }
      const { isProven, reason } = await proof.verifyOnChain([pruned, pruned], question);
      assert.deepEqual([isProven, reason], [false, `No node knows the confirmed transaction ${signature}.`]);
      world.localnet.faults.clear();
    },
  );

  it('runBatch continues an interrupted run by its idempotency key', async () => {
    const [sent, idempotencyKey] = [await pipelines(), crypto.randomUUID()];
    const breakOffAt = async (stage: BatchProgress['stage']) => {
      const stop = new AbortController();
      const onProgress = (event: BatchProgress) =>
        event.stage === stage && stop.abort(new Error(`stopped at ${stage}`));
      const options = { wallet: project.wallet, idempotencyKey, onProgress, verify: { rpcUrl } };
      await assert.rejects(runBatch(client, sent, { ...options, signal: stop.signal }), {
        message: `stopped at ${stage}`,
      });
    };
    await breakOffAt('compiled');
    await breakOffAt('setUp');
    await breakOffAt('approved');
    const ended = await runBatch(client, sent, { wallet: project.wallet, idempotencyKey, verify: { rpcUrl } });
    assert.equal(ended.executeResult?.totalSuccessful, 2);
    const again = await runBatch(client, sent, { wallet: project.wallet, idempotencyKey, verify: { rpcUrl } });
    assert.deepEqual(again, ended);
  });

  it('runBatch signs nothing if the vault is not the known one', async () => {
    const stranger = (await generateKeyPairSigner()).address;
    let asked = 0;
    const wallet = byteSigner(project.wallet.address, async () => {
      asked += 1;
      return new Uint8Array(64);
    });
    const idempotencyKey = crypto.randomUUID();
    const verify = { rpcUrl, vaultAddress: stranger };
    const error: unknown = await runBatch(client, await pipelines(), { wallet, verify, idempotencyKey }).catch(
      (it) => it,
    );
    assert.ok(isFlywheelError(error, 'ERR_SIGNING_REFUSED'), String(error));
    assert.match(error.message, new RegExp(`Not signed: The vault shown is ${stranger}`));
    assert.equal(asked, 0);
    const open = await client.getCurrentBatch();
    assert.ok(open);
    const { status } = await client.cancelBatch(open.id);
    assert.equal(status, 'FAILED');
  });

  it('runBatch signs with any signer of bytes', async () => {
    const { keyPair, address } = project.wallet;
    const kms = byteSigner(address, (message) => signBytes(keyPair.privateKey, message));
    const batch = await runBatch(client, await pipelines(), { wallet: kms, verify: { rpcUrl } });
    assert.equal(batch.status, 'EXECUTED');
  });

  it('runBatch signs with a Wallet Standard wallet, for the given chain', async () => {
    const chains: string[] = [];
    const signTransaction = async (...inputs: { transaction: Uint8Array; chain: string }[]) =>
      Promise.all(
        inputs.map(async ({ transaction, chain }) => {
          chains.push(chain);
          const decoded = getTransactionDecoder().decode(transaction);
          const signed = await partiallySignTransaction([project.wallet.keyPair], decoded);
          return { signedTransaction: new Uint8Array(getTransactionEncoder().encode(signed)) };
        }),
      );
    const wallet = walletStandardSigner({
      wallet: { name: 'Test', features: { 'solana:signTransaction': { signTransaction } } },
      account: { address: project.wallet.address },
      chain: 'solana:localnet',
    });
    const batch = await runBatch(client, await pipelines(), { wallet, verify: { rpcUrl } });
    assert.equal(batch.status, 'EXECUTED');
    assert.deepEqual(chains, ['solana:localnet']);
  });

  it('streamEvents yields every event of a batch once, from any event on, and ends after the last', async () => {
    const [batch] = (await client.listBatches({ status: 'EXECUTED', limit: 1 })).batches;
    assert.ok(batch);
    const events: BatchEvent[] = [];
    for await (const event of client.streamBatchEvents(batch.id)) events.push(event);
    const types = events.map(({ type }) => type);
    assert.deepEqual([types[0], types.at(-1)], ['batch.initialized', 'batch.closed']);
    assert.ok(types.includes('batch.executed'));
    const later: string[] = [];
    const after = events[1]?.id ?? '';
    for await (const { id } of client.streamBatchEvents(batch.id, { after })) later.push(id);
    assert.deepEqual(
      later,
      events.slice(2).map(({ id }) => id),
    );
    // The stream ends at once after the last event.
    const last = events.at(-1)?.id ?? '';
    for await (const { type } of client.streamBatchEvents(batch.id, { after: last })) assert.fail(type);
    // So does that of a batch whose events are dropped.
    await world.db.deleteFrom('batch_events').where('batch_id', '=', batch.id).execute();
    for await (const { type } of client.streamBatchEvents(batch.id)) assert.fail(type);
    const unknown = client.streamBatchEvents(crypto.randomUUID()).next();
    await assert.rejects(unknown, (error) => isFlywheelError(error, 'ERR_BATCH_NOT_FOUND'));
  });

  it('listBatches lists every batch, page by page', async () => {
    const listed: string[] = [];
    for await (const { id } of client.allBatches({ limit: 2 })) listed.push(id);
    const { batches } = await client.listBatches({ limit: 100 });
    assert.ok(batches.length > 4);
    assert.deepEqual(
      listed,
      batches.map(({ id }) => id),
    );
  });
});
