import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { realClock } from '@flywheel/testing/clock';
import { type Address, generateKeyPairSigner } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { parseConfig } from '../../src/config.ts';
import { type BundleSender, createBundleSender, isBundleFailed } from '../../src/solana/bundles.ts';
import { type Cluster, sign, startCluster } from './cluster.ts';

let cluster: Cluster;
let sender: BundleSender;
before(async () => {
  cluster = await startCluster();
  const { maxTipLamports, maxComputeUnitPrice } = parseConfig({});
  const prices = { maxTipLamports, maxComputeUnitPrice };
  sender = createBundleSender({ ...prices, chain: cluster.chain, blockEngineUrl: null, clock: realClock });
});
after(() => cluster.localnet.stop());

/** Builds a transaction that transfers lamports to an address of its own. */
async function transfer(amount: bigint) {
  const destination: Address = (await generateKeyPairSigner()).address;
  return {
    destination,
    ...(await sign(cluster, [getTransferSolInstruction({ source: cluster.payer, destination, amount })])),
  };
}

async function received(transfers: readonly { readonly destination: Address }[]) {
  const addresses = transfers.map(({ destination }) => destination);
  const accounts = await cluster.chain.accounts(addresses, { commitment: 'processed' });
  return accounts.map((account) => account?.lamports ?? 0n);
}

/** Sends transactions as a bundle that expires with the first of them. */
function send(transactions: readonly Awaited<ReturnType<typeof sign>>[]): Promise<void> {
  const heights = transactions.map(({ lastValidBlockHeight }) => lastValidBlockHeight);
  const earliest = heights.reduce((least, height) => (height < least ? height : least));
  return sender.send(
    transactions.map(({ wire }) => wire),
    earliest,
  );
}

/** More lamports than the payer has. */
const TOO_MUCH = 10n ** 15n;

describe('the ordered sender', () => {
  it('resolves when every transaction is processed, and needs no tip', async () => {
    const transfers = [await transfer(1_000_001n), await transfer(1_000_002n), await transfer(1_000_003n)];
    await send(transfers);
    assert.deepEqual(await received(transfers), [1_000_001n, 1_000_002n, 1_000_003n]);
    assert.equal(await sender.tip(cluster.payer.address), null);
    assert.equal(sender.isAtomic, false);
  });

  it('keeps the order: each transaction may need the previous one', async () => {
    const heir = await generateKeyPairSigner();
    const endowed = await sign(cluster, [
      getTransferSolInstruction({ source: cluster.payer, destination: heir.address, amount: 5_000_000n }),
    ]);
    const destination = (await generateKeyPairSigner()).address;
    const spent = await sign(
      cluster,
      [getTransferSolInstruction({ source: heir, destination, amount: 4_000_000n })],
      [heir],
    );
    await send([endowed, spent]);
    assert.deepEqual(await received([{ destination }]), [4_000_000n]);
  });

  it('stops at the first failing transaction, and throws its position and error', async () => {
    const transfers = [await transfer(1_000_000n), await transfer(TOO_MUCH), await transfer(1_000_000n)];
    await assert.rejects(send(transfers), (error) => {
      assert.ok(isBundleFailed(error));
      assert.equal(error.position, 1);
      assert.equal(error.err, '{"InstructionError":[0,{"Custom":1}]}');
      return true;
    });
    assert.deepEqual(await received(transfers), [1_000_000n, 0n, 0n]);
    const [, , third] = transfers;
    assert.ok(third);
    assert.deepEqual((await cluster.chain.signatureOutcomes([third.signature])).outcomes, ['unknown']);
  });

  it('continues where an earlier attempt stopped', async () => {
    const transfers = [await transfer(1_000_000n), await transfer(1_000_000n)];
    await send(transfers.slice(0, 1));
    await send(transfers);
    assert.deepEqual(await received(transfers), [1_000_000n, 1_000_000n]);
  });

  it('waits for nothing if a bundle of an earlier attempt has expired', async () => {
    const transfers = [await transfer(1_000_000n)];
    await cluster.localnet.warp({ slots: 200n });
    const slot = await cluster.chain.slot();
    await assert.rejects(send(transfers), /had not landed by block height/);
    const waitedSlots = (await cluster.chain.slot()) - slot;
    assert.ok(waitedSlots < 150n, `It waited for another life of a blockhash: ${waitedSlots} slots.`);
  });

  it('throws the same failure if the same bundle is sent again', async () => {
    const transfers = [await transfer(TOO_MUCH)];
    await assert.rejects(send(transfers), { name: 'BundleFailed', position: 0 });
    await assert.rejects(send(transfers), { name: 'BundleFailed', position: 0 });
  });

  it('rejects an empty bundle and more than five transactions', async () => {
    const one = await transfer(1n);
    await assert.rejects(sender.send([], 0n), /A bundle has 0 transactions; it may have 1 to 5/);
    await assert.rejects(send(Array.from({ length: 6 }, () => one)), /A bundle has 6 transactions/);
  });

  it('leaves the status of a bundle to the chain', async () => {
    assert.equal(await sender.status('0'.repeat(64)), 'pending');
  });
});
