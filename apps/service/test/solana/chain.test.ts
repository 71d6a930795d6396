import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { realClock } from '@flywheel/testing/clock';
import { generateKeyPairSigner, type Signature } from '@solana/kit';
import { getTransferSolInstruction, SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { sendAndConfirm } from '../../src/solana/send-and-confirm.ts';
import { type Cluster, sign, startCluster } from './cluster.ts';

let cluster: Cluster;
before(async () => {
  cluster = await startCluster();
});
after(() => cluster.localnet.stop());

async function transfer(amount: bigint) {
  const destination = (await generateKeyPairSigner()).address;
  return {
    destination,
    ...(await sign(cluster, [getTransferSolInstruction({ source: cluster.payer, destination, amount })])),
  };
}

function confirm({ wire, lastValidBlockHeight }: Awaited<ReturnType<typeof transfer>>) {
  return sendAndConfirm({ chain: cluster.chain, clock: realClock }, wire, lastValidBlockHeight);
}

describe('chain', () => {
  it('reads more accounts than one call takes, in order, null for missing ones', async () => {
    const { payer, chain } = cluster;
    const absent = await Promise.all(Array.from({ length: 120 }, async () => (await generateKeyPairSigner()).address));
    const asked = [...absent.slice(0, 105), payer.address, ...absent.slice(105)];
    const accounts = await chain.accounts(asked);
    assert.equal(accounts.length, 121);
    assert.deepEqual(
      accounts.flatMap((account, i) => (account ? [i] : [])),
      [105],
    );
    assert.equal(accounts[105]?.address, payer.address);
    assert.equal(accounts[105]?.programAddress, SYSTEM_PROGRAM_ADDRESS);
    assert.deepEqual(accounts[105]?.data, new Uint8Array());
  });

  it('reads the status of signatures', async () => {
    const [good, bad, unsent] = [await transfer(1_000_000n), await transfer(10n ** 15n), await transfer(1n)];
    assert.equal((await confirm(good)).err, null);
    assert.equal((await confirm(bad)).err, '{"InstructionError":[0,{"Custom":1}]}');
    const { outcomes } = await cluster.chain.signatureOutcomes([bad.signature, unsent.signature, good.signature]);
    assert.deepEqual(
      outcomes.map((outcome) => (outcome === 'unknown' ? outcome : outcome.err)),
      ['{"InstructionError":[0,{"Custom":1}]}', 'unknown', null],
    );
  });

  it('reads more statuses than one call takes', async () => {
    const { signature } = await transfer(1n);
    const asked: Signature[] = Array.from({ length: 300 }, () => signature);
    assert.equal((await cluster.chain.signatureOutcomes(asked)).outcomes.length, 300);
  });

  it('sends a transaction that is already on chain without an error', async () => {
    const sent = await transfer(1_000_000n);
    await confirm(sent);
    assert.equal(await cluster.chain.send(sent.wire), sent.signature);
    const [account] = await cluster.chain.accounts([sent.destination]);
    assert.equal(account?.lamports, 1_000_000n);
  });

  it('simulates with and without signatures and blockhash', async () => {
    const { chain } = cluster;
    const [good, bad] = [await transfer(1_000_000n), await transfer(10n ** 15n)];
    const checked = await chain.simulate(good.wire, { sigVerify: true, replaceRecentBlockhash: false });
    assert.equal(checked.err, null);
    assert.ok((checked.unitsConsumed ?? 0n) > 0n);
    assert.ok(checked.logs.some((line) => line.includes('success')));
    const failing = await chain.simulate(bad.wire, { sigVerify: false, replaceRecentBlockhash: true });
    assert.equal(failing.err, '{"InstructionError":[0,{"Custom":1}]}');
  });

  it('reads slot, height, blockhash, rent and genesis', async () => {
    const { chain } = cluster;
    const height = await chain.blockHeight();
    const { lastValidBlockHeight } = await chain.latestBlockhash();
    const slot = await chain.slot();
    assert.ok(slot >= height);
    assert.ok(lastValidBlockHeight > height && lastValidBlockHeight <= slot + 150n);
    assert.equal(await chain.minimumBalanceForRentExemption(0), 890_880n);
    assert.equal(await chain.genesisHash(), await chain.genesisHash());
  });
});

describe('sendAndConfirm', () => {
  it('sends a lost transaction again', async () => {
    cluster.localnet.faults.set({ kind: 'drop', method: 'sendTransaction', times: 1 });
    const { wire, lastValidBlockHeight } = await transfer(1_000_000n);
    const deps = { chain: cluster.chain, clock: { sleep: () => realClock.sleep(5) } };
    assert.equal((await sendAndConfirm(deps, wire, lastValidBlockHeight)).err, null);
  });

  it('throws if a transaction can no longer land', async () => {
    const lost = await transfer(1_000_000n);
    await cluster.localnet.warp({ slots: 200n });
    await assert.rejects(confirm(lost), new RegExp(`^Error: ${lost.signature} had not landed by block height \\d+`));
  });

  it('stops waiting when it is aborted', async () => {
    const waiting = await transfer(1_000_000n);
    cluster.localnet.faults.set({ kind: 'drop', method: 'sendTransaction', times: 1 });
    const stop = new AbortController();
    const deps = { chain: cluster.chain, clock: realClock, signal: stop.signal };
    const confirmed = sendAndConfirm(deps, waiting.wire, waiting.lastValidBlockHeight);
    stop.abort(new Error('shutting down'));
    await assert.rejects(confirmed, { name: 'AbortError' });
  });
});
