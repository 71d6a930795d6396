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
  const { rpc, wallet, call } = await startCluster(t);
  const before = (await rpc.getSupply({ commitment: 'processed' }).send()).value;
  await wallet(3n * SOL);
  const after = (await rpc.getSupply({ commitment: 'processed' }).send()).value;
  assert.equal(after.circulating + after.nonCirculating, after.total);
  assert.ok(after.circulating - before.circulating >= 3n * SOL);
  assert.deepEqual((await call('getVoteAccounts')).result, { current: [], delinquent: [] });
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
