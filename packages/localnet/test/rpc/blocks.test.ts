import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import {
  address,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { SOL, startCluster } from '../cluster.ts';

const V1_FEATURE = address('txv1aq4pp281K9um3tnPgkfX8UqtFT6wcVW3hNezGLL');

test('getBlock answers transactions in order and names the neighbouring blocks', async (t) => {
  const { localnet, rpc, wallet, send, call } = await startCluster(t);
  const payer = await wallet();
  await localnet.warp();
  const slot = await rpc.getSlot({ commitment: 'processed' }).send();
  const signatures = [];
  for (const amount of [1n, 2n, 3n]) {
    signatures.push(
      await send(payer, [getTransferSolInstruction({ source: payer, destination: payer.address, amount })]),
    );
  }
  assert.equal((await call('getBlock', [Number(slot), { commitment: 'confirmed' }])).error?.code, -32004);
  await localnet.warp({ slots: 33n });
  const block = await rpc.getBlock(slot, { maxSupportedTransactionVersion: 0, rewards: false }).send();
  assert.deepEqual(
    block?.transactions.map(({ transaction }) => transaction.signatures[0]),
    signatures,
  );
  const next = await rpc.getBlock(slot + 1n, { transactionDetails: 'none', rewards: false }).send();
  assert.deepEqual([next?.parentSlot, next?.previousBlockhash], [slot, block?.blockhash]);
  assert.deepEqual(await rpc.getBlocks(slot, slot + 1n).send(), [slot, slot + 1n]);
  assert.deepEqual(await rpc.getBlocksWithLimit(slot, 2).send(), [slot, slot + 1n]);
});

test('getSignaturesForAddress pages through all signatures, each once', async (t) => {
  const { localnet, rpc, wallet, send } = await startCluster(t);
  const payer = await wallet(SOL);
  const sent = [];
  for (let amount = 1n; amount <= 5n; amount++) {
    sent.unshift(await send(payer, [getTransferSolInstruction({ source: payer, destination: payer.address, amount })]));
    await localnet.warp();
  }
  await localnet.warp({ slots: 29n });
  const page = (options: object) =>
    rpc.getSignaturesForAddress(payer.address, { commitment: 'confirmed', limit: 2, ...options }).send();
  const first = await page({});
  const second = await page({ before: first.at(-1)?.signature });
  assert.deepEqual(
    [...first, ...second].map(({ signature }) => signature),
    sent.slice(0, 4),
  );
  // The newest ones are not finalized, so the page begins below them and is not shorter.
  assert.equal((await page({ commitment: 'finalized' })).length, 2);
});

test('getAccountInfo can answer compressed data', async (t) => {
  const { call } = await startCluster(t);
  const read = async (encoding: 'base64' | 'base64+zstd') => {
    const { result } = await call('getAccountInfo', [V1_FEATURE, { encoding }]);
    return (result as { value: { data: [text: string, encoding: string] } }).value.data; // the shape of getAccountInfo
  };
  const [plain, compressed] = await Promise.all([read('base64'), read('base64+zstd')]);
  assert.equal(compressed[1], 'base64+zstd');
  assert.equal(zstdDecompressSync(Buffer.from(compressed[0], 'base64')).toString('base64'), plain[0]);
});

test('getSupply counts the bank’s lamports as non-circulating and all others as circulating', async (t) => {
  const { rpc, wallet } = await startCluster(t);
  const before = (await rpc.getSupply({ commitment: 'processed' }).send()).value;
  await wallet(3n * SOL);
  const after = (await rpc.getSupply({ commitment: 'processed' }).send()).value;
  assert.equal(after.circulating + after.nonCirculating, after.total);
  assert.ok(after.circulating - before.circulating >= 3n * SOL);
});

test('an older cluster has no feature account of version 1', async (t) => {
  const older = await startCluster(t, { v1: false });
  assert.equal((await older.rpc.getAccountInfo(V1_FEATURE, { encoding: 'base64' }).send()).value, null);
  const payer = await older.wallet();
  const { value } = await older.rpc.getLatestBlockhash().send();
  const transaction = await signTransactionMessageWithSigners(
    pipe(
      createTransactionMessage({ version: 1 }),
      (empty) => setTransactionMessageFeePayerSigner(payer, empty),
      (paid) => setTransactionMessageLifetimeUsingBlockhash(value, paid),
    ),
  );
  const { error } = await older.call('sendTransaction', [
    getBase64EncodedWireTransaction(transaction),
    { encoding: 'base64' },
  ]);
  assert.equal(error?.code, -32602);
  assert.match(error?.message ?? '', /version 1 is not known/);
});

test('getBlockTime answers for every slot, also slot 0 and old empty ones', async (t) => {
  const { localnet, call } = await startCluster(t);
  await localnet.warp({ slots: 2_000n, seconds: 5_000n });
  const times: number[] = [];
  for (const slot of [0, 1, 700, 1_500, 2_001]) times.push(Number((await call('getBlockTime', [slot])).result));
  assert.deepEqual(
    times,
    [...times].sort((a, b) => a - b),
  );
  assert.ok((times.at(-1) ?? 0) - (times[0] ?? 0) >= 5_000);
  assert.equal((await call('getBlockTime', [2_002])).error?.code, -32004);
});

test('methods with a range refuse one that no schedule or block covers', async (t) => {
  const { call } = await startCluster(t);
  for (const [method, params, message] of [
    ['getSlotLeaders', [1_000_000, 2], /leader schedule for epoch 2 is unavailable/],
    ['getBlockProduction', [{ range: { firstSlot: 5, lastSlot: 4 } }], /cannot be less than firstSlot/],
    ['getBlockProduction', [{ range: { firstSlot: 0, lastSlot: 9_999 } }], /is too large/],
    ['getRecentPerformanceSamples', [721], /Invalid limit; max 720/],
  ] as const) {
    const { error } = await call(method, params);
    assert.equal(error?.code, -32602, method);
    assert.match(error?.message ?? '', message);
  }
});

test('getSupply leaves out the list of accounts on demand', async (t) => {
  const { call } = await startCluster(t);
  const { result } = await call('getSupply', [{ excludeNonCirculatingAccountsList: true }]);
  assert.partialDeepStrictEqual(result, { value: { nonCirculatingAccounts: [] } });
});

test('getVoteAccounts names the one node, and its vote account exists', async (t) => {
  const { rpc, call } = await startCluster(t);
  const { current, delinquent } = await rpc.getVoteAccounts({ commitment: 'processed' }).send();
  const { result } = await call('getIdentity');
  const [{ votePubkey, nodePubkey, lastVote } = {}] = current;
  assert.ok(votePubkey);
  assert.deepEqual([current.length, nodePubkey, delinquent], [1, Object(result).identity, []]);
  assert.equal(lastVote, await rpc.getSlot({ commitment: 'processed' }).send());
  const { value } = await rpc.getAccountInfo(votePubkey, { encoding: 'jsonParsed' }).send();
  assert.partialDeepStrictEqual(value?.data, {
    program: 'vote',
    parsed: {
      type: 'vote',
      info: { nodePubkey, authorizedVoters: [{ epoch: 0n, authorizedVoter: nodePubkey }], votes: [], rootSlot: null },
    },
  });
  const other = await call('getVoteAccounts', [{ votePubkey: nodePubkey }]);
  assert.deepEqual(other.result, { current: [], delinquent: [] });
  assert.equal((await call('getVoteAccounts', [{ votePubkey: 'nobody' }])).error?.code, -32602);
});
