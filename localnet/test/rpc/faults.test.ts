import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getTransferSolInstruction } from '@solana-program/system';
import { startCluster } from '../cluster.ts';

test('answers with 429 or 500 as often as asked, for the method that was named', async (t) => {
  const { localnet, call } = await startCluster(t);
  await call('localnet_setFault', [{ kind: 'error', method: 'getSlot', status: 429, times: 2 }]);
  const status = async (method: string) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method });
    return (await fetch(localnet.url, { method: 'POST', body })).status;
  };
  assert.deepEqual(
    [await status('getHealth'), await status('getSlot'), await status('getSlot'), await status('getSlot')],
    [200, 429, 429, 200],
  );
  await call('localnet_setFault', [{ kind: 'error', method: '*', status: 500 }]);
  assert.equal(await status('getHealth'), 500);
  localnet.faults.clear();
  assert.equal(await status('getHealth'), 200);
});

test('a dropped transaction is answered like any other and never lands', async (t) => {
  const { localnet, rpc, wallet, sign, submit } = await startCluster(t, {
    faults: [{ kind: 'drop', method: 'sendTransaction', times: 1 }],
  });
  const payer = await wallet();
  const { wire, signature } = await sign(payer, [
    getTransferSolInstruction({ source: payer, destination: payer.address, amount: 1n }),
  ]);
  assert.equal(await submit(wire), signature);
  await localnet.warp();
  assert.deepEqual((await rpc.getSignatureStatuses([signature]).send()).value, [null]);
  await submit(wire);
  assert.notDeepEqual((await rpc.getSignatureStatuses([signature]).send()).value, [null]);
});

test('a delayed answer comes late', async (t) => {
  const { call } = await startCluster(t, { faults: [{ kind: 'delay', method: 'getHealth', delayMs: 60 }] });
  const started = performance.now();
  await call('getHealth');
  assert.ok(performance.now() - started >= 59);
});

test('a fault that makes no sense is refused', async (t) => {
  const { call } = await startCluster(t);
  const { error } = await call('localnet_setFault', [{ kind: 'drop', method: 'getSlot' }]);
  assert.equal(error?.code, -32602);
});

test('time can be made to travel, and the programs see it', async (t) => {
  const { call, rpc } = await startCluster(t);
  const slot = await rpc.getSlot({ commitment: 'processed' }).send();
  const before = Number(await rpc.getBlockTime(slot).send());
  const { result } = await call('localnet_warp', [{ slots: 10, seconds: 86_400 }]);
  assert.partialDeepStrictEqual(result, { slot: Number(slot) + 10 });
  const after = Number(await rpc.getBlockTime(slot + 10n).send());
  assert.ok(after - before >= 86_400 && after - before < 86_410);
});
