import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getTransferSolInstruction } from '@solana-program/system';
import { SOL, startCluster } from '../cluster.ts';
import { createTable, createUnripeTable } from '../lookup-table.ts';

test('a lookup table can be created with a recent slot, and used from the slot after its extension', async (t) => {
  const cluster = await startCluster(t);
  const [payer, recipient] = [await cluster.wallet(), await cluster.wallet(0n)];
  await cluster.localnet.warp({ slots: 600n });
  const tables = await createUnripeTable(cluster, payer, [recipient.address]);
  const transfer = getTransferSolInstruction({ source: payer, destination: recipient.address, amount: SOL });
  await assert.rejects(cluster.send(payer, [transfer], { tables }), /invalid transaction: .* uses an invalid index/);
  await cluster.localnet.warp();
  const signature = await cluster.send(payer, [transfer], { tables });
  assert.equal(await cluster.balance(recipient.address), SOL);
  await cluster.localnet.warp();
  const transaction = await cluster.rpc
    .getTransaction(signature, { commitment: 'confirmed', encoding: 'json', maxSupportedTransactionVersion: 0 })
    .send();
  assert.deepEqual(transaction?.meta?.loadedAddresses, { writable: [recipient.address], readonly: [] });
  assert.deepEqual(transaction?.transaction.message.accountKeys.includes(recipient.address), false);
});

test('a lookup table cannot be created with a slot older than the last 512', async (t) => {
  const cluster = await startCluster(t);
  const payer = await cluster.wallet();
  const { rpc } = cluster;
  const recentSlot = await rpc.getSlot({ commitment: 'confirmed' }).send();
  await cluster.localnet.warp({ slots: 600n });
  const stale = { ...cluster, rpc: { ...rpc, getSlot: () => ({ send: async () => recentSlot }) } };
  // Only getSlot is different: it answers an old slot.
  await assert.rejects(createTable(stale as typeof cluster, payer, [payer.address]));
});
