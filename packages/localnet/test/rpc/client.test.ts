import assert from 'node:assert/strict';
import { test } from 'node:test';
import { address, lamports } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { preflightError, SOL, startCluster } from '../cluster.ts';

const TRANSFER_LAMPORTS = 25_000_000n;

test('a transfer is processed at once, confirmed after one slot and finalized after 32', async (t) => {
  const { localnet, rpc, wallet, send } = await startCluster(t);
  const [source, recipient] = [await wallet(), await wallet(0n)];
  const transfer = getTransferSolInstruction({ source, destination: recipient.address, amount: TRANSFER_LAMPORTS });
  const signature = await send(source, [transfer]);
  const statuses: unknown[] = [];
  for (const slots of [1n, 30n, 1n, 1n]) {
    const { value } = await rpc.getSignatureStatuses([signature]).send();
    statuses.push(value[0]?.confirmationStatus);
    await localnet.warp({ slots });
  }
  assert.deepEqual(statuses, ['processed', 'confirmed', 'confirmed', 'finalized']);
  assert.equal((await rpc.getBalance(recipient.address).send()).value, TRANSFER_LAMPORTS);
});

test('a confirmed transaction can be read with fee, balances and logs', async (t) => {
  const { localnet, rpc, wallet, send } = await startCluster(t);
  const [source, recipient] = [await wallet(), await wallet(0n)];
  const transfer = getTransferSolInstruction({ source, destination: recipient.address, amount: TRANSFER_LAMPORTS });
  const signature = await send(source, [transfer]);
  const read = () =>
    rpc
      .getTransaction(signature, { commitment: 'confirmed', encoding: 'json', maxSupportedTransactionVersion: 0 })
      .send();
  assert.equal(await read(), null);
  await localnet.warp();
  const transaction = await read();
  assert.ok(transaction?.meta);
  assert.equal(transaction.meta.err, null);
  assert.equal(transaction.meta.fee, 5000n);
  assert.deepEqual(transaction.meta.preBalances.slice(0, 2), [10n * SOL, 0n]);
  assert.deepEqual(transaction.meta.postBalances.slice(0, 2), [
    10n * SOL - TRANSFER_LAMPORTS - 5000n,
    TRANSFER_LAMPORTS,
  ]);
  assert.deepEqual(transaction.transaction.signatures, [signature]);
  assert.match(transaction.meta.logMessages?.join() ?? '', /success/);
  const ofRecipient = await rpc.getSignaturesForAddress(recipient.address, { commitment: 'confirmed' }).send();
  assert.deepEqual(
    ofRecipient.map((entry) => entry.signature),
    [signature],
  );
});

test('a failing transaction is rejected by preflight without effect, and pays its fee without preflight', async (t) => {
  const { rpc, wallet, sign, submit, balance } = await startCluster(t);
  const [source, recipient] = [await wallet(), await wallet(0n)];
  const tooMuch = getTransferSolInstruction({ source, destination: recipient.address, amount: 100n * SOL });
  const { wire, signature } = await sign(source, [tooMuch]);
  await assert.rejects(submit(wire), /simulation failed/);
  assert.equal(await balance(source.address), 10n * SOL);
  assert.deepEqual((await rpc.getSignatureStatuses([signature]).send()).value, [null]);
  await submit(wire, { skipPreflight: true });
  assert.equal(await balance(source.address), 10n * SOL - 5000n);
  const { value } = await rpc.getSignatureStatuses([signature]).send();
  assert.deepEqual(value[0]?.err, { InstructionError: [0n, { Custom: 1n }] });
});

test('a wrong signature is rejected, with an error by preflight and silently without it', async (t) => {
  const { rpc, wallet, sign, submit } = await startCluster(t);
  const source = await wallet();
  const { wire } = await sign(source, [getTransferSolInstruction({ source, destination: source.address, amount: 1n })]);
  const bytes = Buffer.from(wire, 'base64');
  bytes.writeUInt8(bytes.readUInt8(10) ^ 1, 10);
  const forged = bytes.toString('base64') as typeof wire; // still the base64 of a wire transaction
  assert.match(String(await preflightError(submit(forged))), /did not pass signature verification/);
  const signature = await submit(forged, { skipPreflight: true });
  assert.deepEqual((await rpc.getSignatureStatuses([signature]).send()).value, [null]);
});

test('airdropped amounts arrive exactly, and twice for two airdrops in one slot', async (t) => {
  const { rpc, wallet, balance } = await startCluster(t);
  const { address } = await wallet(0n);
  const amount = lamports(9_007_199_254_740_991n);
  const signatures = [
    await rpc.requestAirdrop(address, amount).send(),
    await rpc.requestAirdrop(address, amount).send(),
  ];
  assert.notEqual(signatures[0], signatures[1]);
  assert.equal(await balance(address), 18_014_398_509_481_982n);
});

test('an airdrop is a legacy transfer, which clients without versions can read', async (t) => {
  const { localnet, rpc, call, wallet } = await startCluster(t);
  const { address: recipient } = await wallet(0n);
  const signature = await rpc.requestAirdrop(recipient, lamports(SOL)).send();
  const slot = await rpc.getSlot({ commitment: 'processed' }).send();
  await localnet.warp();
  const config = { commitment: 'confirmed', encoding: 'jsonParsed' };
  const transaction = await call('getTransaction', [signature, config]);
  assert.partialDeepStrictEqual(transaction.result, {
    transaction: { message: { instructions: [{ program: 'system', parsed: { type: 'transfer' } }] } },
  });
  const { message } = (transaction.result as { transaction: { message: { instructions: unknown[] } } }).transaction; // its shape
  assert.equal(message.instructions.length, 1);
  assert.equal((await call('getBlock', [Number(slot), config])).error, undefined);
});

test('wrapped SOL has its mint, in both token programs', async (t) => {
  const { rpc } = await startCluster(t);
  for (const mint of ['So11111111111111111111111111111111111111112', '9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP']) {
    const { value } = await rpc.getTokenSupply(address(mint)).send();
    assert.deepEqual([value.amount, value.decimals], ['0', 9]);
  }
});

test('sendTransaction answers before the execution, and does not report its result', async (t) => {
  // Nothing is executed before the next warp.
  const { localnet, rpc, wallet, sign, submit } = await startCluster(t, { landingDelayMs: 600_000 });
  const [source, recipient] = [await wallet(), await wallet(0n)];
  const tooMuch = getTransferSolInstruction({ source, destination: recipient.address, amount: 100n * SOL });
  const { wire, signature } = await sign(source, [tooMuch]);
  assert.equal(await submit(wire, { skipPreflight: true }), signature);
  const statuses = async () => (await rpc.getSignatureStatuses([signature]).send()).value;
  assert.deepEqual(await statuses(), [null]);
  await localnet.warp();
  assert.deepEqual((await statuses())[0]?.err, { InstructionError: [0n, { Custom: 1n }] });
});

test('getVersion and getIdentity name the version, the identity and the running Squads program', async (t) => {
  const { localnet, rpc, call } = await startCluster(t);
  assert.equal(await rpc.getHealth().send(), 'ok');
  assert.equal((await rpc.getIdentity().send()).identity.length > 31, true);
  const { result } = await call('getVersion');
  assert.partialDeepStrictEqual(result, { flywheel: { program: localnet.program } });
});
