import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Address, createSolanaRpc, type KeyPairSigner } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { preflightError, SOL, startCluster } from '../cluster.ts';

const COMMITMENTS = ['processed', 'confirmed', 'finalized'] as const;

describe('a fork', () => {
  test('removes the transactions of confirmed blocks, with their effects, statuses and blockhashes', async (t) => {
    const { localnet, rpc, wallet, sign, submit, call } = await startCluster(t);
    const [payer, recipient] = [await wallet(), await wallet(0n)];
    await localnet.warp({ slots: 100n });
    const kept = await sign(payer, [transfer(payer, recipient.address, 2n * SOL)]);
    await submit(kept.wire);
    await localnet.warp({ slots: 2n });
    const lost = await sign(payer, [transfer(payer, recipient.address, SOL)]);
    await submit(lost.wire);
    await localnet.warp();
    const { blockhash } = (await rpc.getLatestBlockhash({ commitment: 'confirmed' }).send()).value;
    const late = await sign(payer, [transfer(payer, recipient.address, 2n)]);
    const statuses = async () =>
      (await rpc.getSignatureStatuses([kept.signature, lost.signature]).send()).value.map(
        (status) => status?.confirmationStatus ?? null,
      );
    assert.deepEqual(await statuses(), ['confirmed', 'confirmed']);
    const slot = await rpc.getSlot({ commitment: 'confirmed' }).send();

    localnet.fork({ slots: 1n });

    assert.deepEqual(await statuses(), ['confirmed', null]);
    const balances = await Promise.all(
      COMMITMENTS.map(async (commitment) => (await rpc.getBalance(recipient.address, { commitment }).send()).value),
    );
    assert.deepEqual(balances, [2n * SOL, 2n * SOL, 0n]);
    const history = await rpc.getSignaturesForAddress(recipient.address, { commitment: 'confirmed' }).send();
    assert.deepEqual(
      history.map(({ signature }) => signature),
      [kept.signature],
    );
    const block = await call('getBlock', [Number(slot), { commitment: 'confirmed', transactionDetails: 'signatures' }]);
    assert.partialDeepStrictEqual(block.result, { signatures: [] });
    assert.notEqual((block.result as { blockhash: string }).blockhash, blockhash); // the shape of getBlock
    assert.equal((await rpc.isBlockhashValid(blockhash, { commitment: 'processed' }).send()).value, false);
    assert.match(String(await preflightError(submit(late.wire))), /[Bb]lockhash/);

    await submit(lost.wire);
    await localnet.warp();
    assert.deepEqual(await statuses(), ['confirmed', 'confirmed'], 'what was lost can be sent again');
  });

  test('keeps changes by the bank, and cannot reach finalized blocks', async (t) => {
    const { localnet, wallet, balance, call } = await startCluster(t);
    await localnet.warp({ slots: 100n });
    const payer = await wallet(SOL);
    const { result } = await call('localnet_fork', [{ slots: 30 }]);
    assert.deepEqual(result, { firstAbandonedSlot: 71 });
    assert.equal(await balance(payer.address), SOL);
    const { error } = await call('localnet_fork', [{ slots: 32 }]);
    assert.partialDeepStrictEqual(error, { code: -32602, message: 'Invalid params: Slot 69 is finalized.' });
  });

  test('removes a landed bundle, which can be sent again', async (t) => {
    const { localnet, wallet, sign, call, balance } = await startCluster(t);
    const [payer, recipient] = [await wallet(), await wallet(0n)];
    await localnet.warp({ slots: 100n });
    const [tipAccount] = (await call('getTipAccounts')).result as Address[]; // the shape of getTipAccounts
    assert.ok(tipAccount);
    const { wire } = await sign(payer, [transfer(payer, recipient.address, SOL), transfer(payer, tipAccount, 1_000n)]);
    const send = () => call('sendBundle', [[wire], { encoding: 'base64' }]);
    const status = async (id: unknown) => {
      const { result } = await call('getInflightBundleStatuses', [[id]]);
      return (result as { value: { status: string }[] }).value[0]?.status; // its shape
    };
    const { result: id } = await send();
    await localnet.warp({ slots: 2n });
    assert.equal(await status(id), 'Landed');
    localnet.fork({ slots: 1n });
    assert.equal(await status(id), 'Failed');
    await send();
    await localnet.warp();
    assert.deepEqual([await status(id), await balance(recipient.address)], ['Landed', SOL]);
  });
});

describe('nodes behind one URL', () => {
  test('answer in turn, each from its own height', async (t) => {
    const { localnet, rpc, wallet, send } = await startCluster(t);
    const [payer, recipient] = [await wallet(), await wallet(0n)];
    await localnet.warp({ slots: 300n });
    const signature = await send(payer, [transfer(payer, recipient.address, SOL)]);
    await localnet.warp({ slots: 100n });
    localnet.faults.set({ kind: 'behind', method: '*', slots: [0, 200] });
    const turns = async <T>(ask: () => Promise<T>) => [await ask(), await ask()];
    const confirmed = { commitment: 'confirmed' } as const;
    assert.deepEqual(await turns(() => rpc.getBlockHeight(confirmed).send()), [400n, 200n]);
    const balances = await turns(() => rpc.getBalance(recipient.address, confirmed).send());
    assert.deepEqual(
      balances.map(({ context, value }) => [context.slot, value]),
      [
        [400n, SOL],
        [200n, 0n],
      ],
    );
    const statuses = await turns(async () => (await rpc.getSignatureStatuses([signature]).send()).value[0]?.slot);
    assert.deepEqual(statuses, [301n, undefined]);
    const { blockhash } = (await rpc.getLatestBlockhash(confirmed).send()).value;
    const isValid = async () => (await rpc.isBlockhashValid(blockhash, confirmed).send()).value;
    assert.deepEqual(await turns(isValid), [false, true], 'the node behind does not know it');
    localnet.faults.clear();
    assert.equal(await isValid(), true);
  });

  test('with a short history do not know older transactions and blocks', async (t) => {
    const { localnet, rpc, wallet, send, call } = await startCluster(t);
    const payer = await wallet();
    const signature = await send(payer, [transfer(payer, payer.address, 1n)]);
    await localnet.warp({ slots: 400n });
    const read = () => rpc.getTransaction(signature, { encoding: 'json', maxSupportedTransactionVersion: 0 }).send();
    assert.notEqual(await read(), null);
    localnet.faults.set({ kind: 'forgetHistory', method: '*', slots: 50 });
    assert.equal(await read(), null);
    const search = { searchTransactionHistory: true } as const;
    assert.deepEqual((await rpc.getSignatureStatuses([signature], search).send()).value, [null]);
    assert.deepEqual(await rpc.getSignaturesForAddress(payer.address).send(), []);
    assert.equal(await rpc.getFirstAvailableBlock().send(), 351n);
    assert.equal((await call('getBlock', [350])).error?.code, -32001);
  });

  test('without a history refuse what needs one, and know recent statuses', async (t) => {
    const { localnet, rpc, wallet, send, call } = await startCluster(t);
    const payer = await wallet();
    const signature = await send(payer, [transfer(payer, payer.address, 1n)]);
    await localnet.warp({ slots: 100n });
    localnet.faults.set({ kind: 'forgetHistory', method: '*', slots: 0 });
    const calls = [
      call('getTransaction', [signature]),
      call('getSignaturesForAddress', [payer.address]),
      call('getSignatureStatuses', [[signature], { searchTransactionHistory: true }]),
      call('getBlock', [1]),
    ];
    for (const { error } of await Promise.all(calls)) {
      assert.deepEqual(error, { code: -32011, message: 'Transaction history is not available from this node' });
    }
    assert.equal((await rpc.getSignatureStatuses([signature]).send()).value[0]?.confirmationStatus, 'finalized');
  });

  test('have URLs of their own, to which faults can be limited', async (t) => {
    const { localnet, wallet, send, call } = await startCluster(t);
    const payer = await wallet();
    const signature = await send(payer, [transfer(payer, payer.address, 1n)]);
    await localnet.warp({ slots: 100n });
    await call('localnet_setFault', [{ kind: 'forgetHistory', method: '*', slots: 50, node: 'pruned' }]);
    await call('localnet_setFault', [{ kind: 'behind', method: '*', slots: [60], node: 'behind' }]);
    await call('localnet_setFault', [{ kind: 'error', method: 'getSlot', status: 429, node: 'pruned' }]);
    const at = (path: string) => createSolanaRpc(`${localnet.url}${path}`);
    const find = async (path: string) =>
      (await at(path).getTransaction(signature, { encoding: 'json', maxSupportedTransactionVersion: 0 }).send())?.slot;
    assert.deepEqual([await find('/nodes/pruned'), await find('/nodes/whole'), await find('')], [undefined, 1n, 1n]);
    const slots = await Promise.all(['/nodes/behind', '/nodes/whole'].map((path) => at(path).getBlockHeight().send()));
    assert.deepEqual(slots, [40n, 100n]);
    await assert.rejects(at('/nodes/pruned').getSlot().send(), /429/);
    assert.equal(await at('/nodes/whole').getSlot().send(), 100n);
    await assert.rejects(at('/other').getSlot().send(), /404/);
  });
});

describe('getSignatureStatuses', () => {
  test('answers without searchTransactionHistory only from the last 300 finalized slots', async (t) => {
    const { localnet, rpc, wallet, send } = await startCluster(t);
    const payer = await wallet();
    const signature = await send(payer, [transfer(payer, payer.address, 1n)]);
    const status = async (searchTransactionHistory: boolean) =>
      (await rpc.getSignatureStatuses([signature], { searchTransactionHistory }).send()).value[0]?.confirmationStatus;
    // The transaction is in slot 1. When slot 300 is finalized, the cache holds the slots from 1 on.
    await localnet.warp({ slots: 332n - (await rpc.getSlot({ commitment: 'processed' }).send()) });
    assert.equal(await rpc.getSlot({ commitment: 'finalized' }).send(), 300n);
    assert.deepEqual([await status(false), await status(true)], ['finalized', 'finalized']);
    await localnet.warp();
    assert.deepEqual([await status(false), await status(true)], [undefined, 'finalized']);
  });
});

test('WebSocket clients can be disconnected, and connect again', async (t) => {
  const { localnet } = await startCluster(t);
  const connect = async () => {
    const socket = new WebSocket(localnet.websocketUrl);
    await new Promise((resolve) => socket.addEventListener('open', resolve));
    return { socket, closed: new Promise((resolve) => socket.addEventListener('close', resolve)) };
  };
  const first = await connect();
  localnet.dropWebSockets();
  await first.closed;
  const second = await connect();
  second.socket.close();
  await second.closed;
});

function transfer(source: KeyPairSigner, destination: Address, amount: bigint) {
  return getTransferSolInstruction({ source, destination, amount });
}
