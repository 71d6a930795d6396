import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Address, Instruction, KeyPairSigner } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { type Cluster, type SignedTransaction, SOL, startCluster } from '../cluster.ts';
import { createTable } from '../lookup-table.ts';

const ENGINE = '/api/v1/bundles';
const TIP_LAMPORTS = 1_000n;

test('a bundle is accepted at once and lands completely in the next slot, in order', async (t) => {
  const cluster = await startCluster(t);
  const [payer, middle, last] = [await cluster.wallet(), await cluster.wallet(0n), await cluster.wallet(0n)];
  const transactions = [
    await cluster.sign(payer, [transfer(payer, middle.address, 3n * SOL)]),
    await cluster.sign(middle, [transfer(middle, last.address, 2n * SOL)]),
    await cluster.sign(payer, [transfer(payer, await tipAccount(cluster), TIP_LAMPORTS)]),
  ];
  const bundleId = await sendBundle(cluster, transactions);
  const signatures = transactions.map(({ signature }) => signature);
  assert.equal(bundleId, createHash('sha256').update(signatures.join(',')).digest('hex'));
  assert.equal(await inflight(cluster, bundleId), 'Pending');
  assert.deepEqual(await landed(cluster, bundleId), [null]);
  assert.equal(await cluster.balance(last.address), 0n);
  await cluster.localnet.warp();
  assert.equal(await inflight(cluster, bundleId), 'Landed');
  assert.equal(await cluster.balance(last.address), 2n * SOL);
  const slot = Number(await cluster.rpc.getSlot({ commitment: 'processed' }).send());
  assert.deepEqual(await landed(cluster, bundleId), [
    { bundle_id: bundleId, transactions: signatures, slot, confirmation_status: 'processed', err: { Ok: null } },
  ]);
  const { value } = await cluster.rpc.getSignatureStatuses(signatures).send();
  assert.deepEqual(
    value.map((status) => Number(status?.slot)),
    [slot, slot, slot],
  );
});

test('a bundle whose last transaction fails changes nothing, not even accounts of a lookup table', async (t) => {
  const cluster = await startCluster(t);
  const [payer, poor, fresh] = [await cluster.wallet(), await cluster.wallet(SOL), await cluster.wallet(0n)];
  const tables = await createTable(cluster, payer, [fresh.address, poor.address]);
  const before = await Promise.all([payer, poor, fresh].map(({ address }) => cluster.balance(address)));
  const bundleId = await sendBundle(cluster, [
    await cluster.sign(payer, [transfer(payer, fresh.address, SOL)], { tables }),
    await cluster.sign(payer, [transfer(payer, poor.address, SOL)], { tables }),
    await cluster.sign(payer, [transfer(payer, await tipAccount(cluster), TIP_LAMPORTS)]),
    await cluster.sign(poor, [transfer(poor, payer.address, 50n * SOL)]),
  ]);
  await cluster.localnet.warp();
  assert.equal(await inflight(cluster, bundleId), 'Failed');
  assert.deepEqual(await landed(cluster, bundleId), [null]);
  const after = await Promise.all([payer, poor, fresh].map(({ address }) => cluster.balance(address)));
  assert.deepEqual(after, before);
  assert.equal((await cluster.rpc.getAccountInfo(fresh.address, { encoding: 'base64' }).send()).value, null);
});

test('the transactions of a failed bundle can be sent again and land', async (t) => {
  const cluster = await startCluster(t);
  const [payer, poor] = [await cluster.wallet(), await cluster.wallet(SOL)];
  const transactions = [
    await cluster.sign(payer, [transfer(payer, await tipAccount(cluster), TIP_LAMPORTS)]),
    await cluster.sign(poor, [transfer(poor, payer.address, 5n * SOL)]),
  ];
  const bundleId = await sendBundle(cluster, transactions);
  await cluster.localnet.warp();
  assert.equal(await inflight(cluster, bundleId), 'Failed');
  await cluster.localnet.bank.airdrop(poor.address, 10n * SOL);
  assert.equal(await sendBundle(cluster, transactions), bundleId);
  await cluster.localnet.warp();
  assert.equal(await inflight(cluster, bundleId), 'Landed');
});

test('a bundle that needs another one, which has not landed yet, is dropped at once; others are not', async (t) => {
  const cluster = await startCluster(t);
  const [payer, heir] = [await cluster.wallet(), await cluster.wallet(0n)];
  const tip = transfer(payer, await tipAccount(cluster), TIP_LAMPORTS);
  const endowment = await cluster.sign(payer, [transfer(payer, heir.address, 3n * SOL), tip]);
  const spending = await cluster.sign(heir, [
    transfer(heir, payer.address, SOL),
    transfer(heir, await tipAccount(cluster), TIP_LAMPORTS),
  ]);
  const other = await cluster.sign(payer, [tip]);
  const ids: string[] = [];
  for (const transaction of [endowment, spending, other]) ids.push(await sendBundle(cluster, [transaction]));
  const statuses = () => Promise.all(ids.map((id) => inflight(cluster, id)));
  assert.deepEqual(await statuses(), ['Pending', 'Failed', 'Pending']);
  await cluster.localnet.warp();
  assert.deepEqual(await statuses(), ['Landed', 'Failed', 'Landed']);
  await sendBundle(cluster, [spending]);
  await cluster.localnet.warp();
  assert.deepEqual(await statuses(), ['Landed', 'Landed', 'Landed']);
});

test('a bundle that needs a transaction, which was sent before and is not executed yet, is dropped', async (t) => {
  const cluster = await startCluster(t, { landingDelayMs: 60_000 });
  const [payer, heir] = [await cluster.wallet(), await cluster.wallet(0n)];
  const endowment = await cluster.sign(payer, [transfer(payer, heir.address, 3n * SOL)]);
  const spending = await cluster.sign(heir, [transfer(heir, await tipAccount(cluster), TIP_LAMPORTS)]);
  await cluster.submit(endowment.wire);
  const bundleId = await sendBundle(cluster, [spending]);
  await cluster.localnet.warp();
  assert.equal(await cluster.balance(heir.address), 3n * SOL);
  assert.equal(await inflight(cluster, bundleId), 'Failed');
  await sendBundle(cluster, [spending]);
  await cluster.localnet.warp();
  assert.equal(await inflight(cluster, bundleId), 'Landed');
});

test('a bundle lands within its auction, however long a slot is; a lost one is forgotten then, and can be sent again', async (t) => {
  const cluster = await startCluster(t, { slotMs: 60_000, auctionMs: 50, landingDelayMs: 0 });
  const payer = await cluster.wallet();
  const tip = transfer(payer, await tipAccount(cluster), TIP_LAMPORTS);
  const slot = await cluster.rpc.getSlot({ commitment: 'processed' }).send();
  const awaitStatus = async (bundleId: string, wanted: string) => {
    while ((await inflight(cluster, bundleId)) !== wanted) await sleep(5);
  };
  cluster.localnet.faults.set({ kind: 'drop', method: 'sendBundle', times: 1 });
  const bundle = [await cluster.sign(payer, [tip])];
  const bundleId = await sendBundle(cluster, bundle);
  assert.equal(await inflight(cluster, bundleId), 'Pending');
  await awaitStatus(bundleId, 'Invalid');
  assert.deepEqual(await landed(cluster, bundleId), [null]);
  assert.equal(await sendBundle(cluster, bundle), bundleId);
  await awaitStatus(bundleId, 'Landed');
  assert.equal(await cluster.rpc.getSlot({ commitment: 'processed' }).send(), slot);
});

test('the block engine counts its requests, and answers 429 to those beyond its limit', async (t) => {
  const cluster = await startCluster(t, { engineRequestsPerSecond: 2 });
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getTipAccounts' });
  const ask = () =>
    fetch(cluster.localnet.blockEngineUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
  // Its second does not end between the requests, however busy the machine is.
  const nowMs = performance.now();
  t.mock.method(performance, 'now', () => nowMs);
  const answers = [await ask(), await ask(), await ask()];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 429],
  );
  const error = { code: -32_097, message: 'Network congested. Endpoint is globally rate limited.' };
  assert.deepEqual(await answers[2]?.json(), { jsonrpc: '2.0', error, id: null });
  const { result } = await cluster.call('localnet_engineRequests');
  assert.deepEqual(result, { accepted: 2, refused: 1 });
});

test('a bundle fails if one of its transactions has already landed', async (t) => {
  const cluster = await startCluster(t);
  const payer = await cluster.wallet();
  const tip = await cluster.sign(payer, [transfer(payer, await tipAccount(cluster), TIP_LAMPORTS)]);
  const bundleId = await sendBundle(cluster, [tip]);
  await cluster.submit(tip.wire);
  await cluster.localnet.warp();
  assert.equal(await inflight(cluster, bundleId), 'Failed');
});

test('sendBundle rejects a sixth transaction, a tip of 999 lamports, a tip through a table, and a missing signature', async (t) => {
  const cluster = await startCluster(t);
  const payer = await cluster.wallet();
  const tip = await tipAccount(cluster);
  const tables = await createTable(cluster, payer, [tip]);
  const refusal = async (transactions: readonly SignedTransaction[]) => {
    const { error } = await cluster.call('sendBundle', bundleParams(transactions), ENGINE);
    return error?.message ?? 'accepted';
  };
  const paid = (lamports: bigint, options = {}) => cluster.sign(payer, [transfer(payer, tip, lamports)], options);
  const six = await Promise.all([1000n, 1001n, 1002n, 1003n, 1004n, 1005n].map((lamports) => paid(lamports)));
  assert.match(await refusal(six), /6 transactions, at most 5/);
  assert.match(await refusal([await paid(999n)]), /tips 999 lamports/);
  assert.match(await refusal([await paid(1000n, { tables })]), /tips 0 lamports/);
  const { wire, signature } = await paid(1000n);
  const bytes = Buffer.from(wire, 'base64').fill(0, 1, 65);
  assert.match(await refusal([{ wire: bytes.toString('base64') as typeof wire, signature }]), /not signed/);
});

test('the block engine does not know a bundle that was not sent, and has eight tip accounts and a tip floor', async (t) => {
  const cluster = await startCluster(t);
  const unknown = 'ab'.repeat(32);
  assert.equal(await inflight(cluster, unknown), 'Invalid');
  assert.deepEqual(await landed(cluster, unknown), [null]);
  const { result } = await cluster.call('getTipAccounts', [], ENGINE);
  assert.equal(Array.isArray(result) && new Set(result).size, 8);
  const floor: unknown = await (await fetch(`${cluster.localnet.url}/api/v1/bundles/tip_floor`)).json();
  assert.partialDeepStrictEqual(floor, [{ landed_tips_50th_percentile: 0.000001 }]);
});

function transfer(source: KeyPairSigner, destination: Address, amount: bigint): Instruction {
  return getTransferSolInstruction({ source, destination, amount });
}

async function tipAccount({ call }: Cluster): Promise<Address> {
  const { result } = await call('getTipAccounts', [], ENGINE);
  assert.ok(Array.isArray(result));
  return result[0] as Address; // the method answers addresses
}

function bundleParams(transactions: readonly SignedTransaction[]) {
  return [transactions.map(({ wire }) => wire), { encoding: 'base64' }];
}

async function sendBundle({ call }: Cluster, transactions: readonly SignedTransaction[]): Promise<string> {
  const { result, error } = await call('sendBundle', bundleParams(transactions), ENGINE);
  assert.equal(error, undefined);
  return String(result);
}

async function inflight({ call }: Cluster, bundleId: string): Promise<unknown> {
  const { result } = await call('getInflightBundleStatuses', [[bundleId]], ENGINE);
  return (result as { value: { status: string }[] }).value[0]?.status; // asserted on by the caller
}

async function landed({ call }: Cluster, bundleId: string): Promise<unknown> {
  const { result } = await call('getBundleStatuses', [[bundleId]], ENGINE);
  return (result as { value: unknown }).value; // asserted on by the caller
}
