import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, lamports } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { SOL, startCluster } from '../cluster.ts';

test('a fault answers 429 or 500 the given number of times, for the given method', async (t) => {
  const { localnet, call } = await startCluster(t);
  await call('localnet_setFault', [{ kind: 'error', method: 'getSlot', status: 429, times: 2 }]);
  const status = async (method: string) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method });
    return (await fetch(localnet.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body }))
      .status;
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

test('a delayed answer arrives late', async (t) => {
  const { call } = await startCluster(t, { faults: [{ kind: 'delay', method: 'getHealth', delayMs: 60 }] });
  const started = performance.now();
  await call('getHealth');
  assert.ok(performance.now() - started >= 59);
});

test('an invalid fault is rejected', async (t) => {
  const { call } = await startCluster(t);
  const { error } = await call('localnet_setFault', [{ kind: 'drop', method: 'getSlot' }]);
  assert.equal(error?.code, -32602);
});

test('a time warp is visible to programs', async (t) => {
  const { call, rpc } = await startCluster(t);
  const slot = await rpc.getSlot({ commitment: 'processed' }).send();
  const before = Number(await rpc.getBlockTime(slot).send());
  const { result } = await call('localnet_warp', [{ slots: 10, seconds: 86_400 }]);
  assert.partialDeepStrictEqual(result, { slot: Number(slot) + 10 });
  const after = Number(await rpc.getBlockTime(slot + 10n).send());
  assert.ok(after - before >= 86_400 && after - before < 86_410);
});

test('a hanging request is never answered, and others are', async (t) => {
  const { localnet, rpc } = await startCluster(t, { faults: [{ kind: 'hang', method: 'getSlot', times: 1 }] });
  await assert.rejects(rpc.getSlot().send({ abortSignal: AbortSignal.timeout(60) }));
  assert.equal(await rpc.getSlot({ commitment: 'processed' }).send(), 1n);
  assert.equal((await fetch(`${localnet.url}/health`)).status, 200);
});

test('a fault with a probability affects the same requests for the same seed', async (t) => {
  const { localnet, call } = await startCluster(t);
  const strike = async (seed: number) => {
    localnet.faults.clear();
    localnet.faults.set({ kind: 'error', method: 'getHealth', status: 500, probability: 0.5, seed });
    const answers: boolean[] = [];
    for (let request = 0; request < 30; request++) answers.push((await call('getHealth')).error !== undefined);
    return answers;
  };
  const first = await strike(7);
  assert.deepEqual(await strike(7), first);
  assert.notDeepEqual(await strike(8), first);
  assert.deepEqual([first.includes(true), first.includes(false)], [true, true]);
});

test('a duplicated airdrop is paid twice, a duplicated transaction once', async (t) => {
  const { localnet, rpc, wallet, send, balance } = await startCluster(t);
  const payer = await wallet();
  const [gifted, recipient] = [await wallet(0n), await wallet(0n)];
  localnet.faults.set({ kind: 'duplicate', method: '*' });
  await rpc.requestAirdrop(gifted.address, lamports(SOL)).send();
  await send(payer, [getTransferSolInstruction({ source: payer, destination: recipient.address, amount: SOL })]);
  assert.deepEqual([await balance(gifted.address), await balance(recipient.address)], [2n * SOL, SOL]);
});

test('a false status does not change the chain', async (t) => {
  const { localnet, rpc, wallet, send, balance } = await startCluster(t);
  const [payer, recipient] = [await wallet(), await wallet(0n)];
  const signature = await send(payer, [
    getTransferSolInstruction({ source: payer, destination: recipient.address, amount: SOL }),
  ]);
  const method = 'getSignatureStatuses';
  localnet.faults.set({ kind: 'wrongStatus', method, lie: 'unknown', times: 1 });
  localnet.faults.set({ kind: 'wrongStatus', method, lie: 'failed', times: 1 });
  const read = async () => (await rpc.getSignatureStatuses([signature]).send()).value[0];
  assert.equal(await read(), null);
  assert.notEqual((await read())?.err, null);
  assert.equal((await read())?.err, null);
  assert.equal(await balance(recipient.address), SOL);
});

test('a lost transaction or bundle can be reported as landed', async (t) => {
  const { localnet, rpc, call, wallet, sign, submit, balance } = await startCluster(t);
  const [payer, recipient] = [await wallet(), await wallet(0n)];
  const transfer = getTransferSolInstruction({ source: payer, destination: recipient.address, amount: SOL });
  const { wire, signature } = await sign(payer, [transfer]);
  localnet.faults.set({ kind: 'drop', method: 'sendTransaction' });
  for (const method of ['getSignatureStatuses', 'getBundleStatuses', 'getInflightBundleStatuses'] as const) {
    localnet.faults.set({ kind: 'wrongStatus', method, lie: 'landed' });
  }
  await submit(wire);
  const [status] = (await rpc.getSignatureStatuses([signature]).send()).value;
  assert.deepEqual([status?.err, status?.confirmationStatus], [null, 'finalized']);
  const bundleId = 'ab'.repeat(32);
  for (const [method, wanted] of [
    ['getBundleStatuses', { bundle_id: bundleId, confirmation_status: 'finalized' }],
    ['getInflightBundleStatuses', { bundle_id: bundleId, status: 'Landed' }],
  ] as const) {
    const { result } = await call(method, [[bundleId]], '/api/v1/bundles');
    assert.partialDeepStrictEqual(result, { value: [wanted] });
  }
  assert.equal(await balance(recipient.address), 0n);
});

test('a split bundle lands in part, and is not reported as landed', async (t) => {
  const { localnet, wallet, sign, call, balance } = await startCluster(t, {
    faults: [{ kind: 'partLand', method: 'sendBundle', landed: 1 }],
  });
  const [payer, recipient] = [await wallet(), await wallet(0n)];
  const [tipAccount] = (await call('getTipAccounts')).result as Address[]; // the shape of getTipAccounts
  assert.ok(tipAccount);
  const wires = await Promise.all(
    [recipient.address, tipAccount].map(
      async (destination) =>
        (await sign(payer, [getTransferSolInstruction({ source: payer, destination, amount: SOL })])).wire,
    ),
  );
  const { result } = await call('sendBundle', [wires, { encoding: 'base64' }]);
  await localnet.warp();
  assert.equal(await balance(recipient.address), SOL);
  assert.equal(await balance(payer.address), 9n * SOL - 5000n);
  const statuses = await call('getInflightBundleStatuses', [[result]]);
  assert.partialDeepStrictEqual(statuses.result, { value: [{ status: 'Failed', landed_slot: null }] });
});

test('blockhashes expire and slots pause on request', async (t) => {
  const { localnet, rpc, wallet, sign, submit, call } = await startCluster(t, { slotMs: 10 });
  const payer = await wallet();
  const transfer = getTransferSolInstruction({ source: payer, destination: payer.address, amount: 1n });
  const { wire } = await sign(payer, [transfer]);
  await call('localnet_expireBlockhashes');
  await assert.rejects(submit(wire), /simulation failed/);
  await call('localnet_pauseSlots');
  const slot = await rpc.getSlot({ commitment: 'processed' }).send();
  await localnet.warp();
  assert.equal(await rpc.getSlot({ commitment: 'processed' }).send(), slot + 1n);
  await call('localnet_resumeSlots');
  while ((await rpc.getSlot({ commitment: 'processed' }).send()) < slot + 3n);
});
