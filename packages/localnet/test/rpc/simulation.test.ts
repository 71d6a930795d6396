import assert from 'node:assert/strict';
import { test } from 'node:test';
import { address, type Blockhash, type Instruction } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import {
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';
import { SOL, startCluster } from '../cluster.ts';

const OLD_BLOCKHASH = '4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi' as Blockhash;

test('simulateTransaction shows the resulting accounts, and changes nothing', async (t) => {
  const { rpc, wallet, sign, balance } = await startCluster(t);
  const [source, recipient] = [await wallet(), await wallet(0n)];
  const { wire } = await sign(source, [
    getTransferSolInstruction({ source, destination: recipient.address, amount: SOL }),
  ]);
  const { value } = await rpc
    .simulateTransaction(wire, {
      encoding: 'base64',
      sigVerify: true,
      accounts: { encoding: 'base64', addresses: [recipient.address] },
    })
    .send();
  assert.equal(value.err, null);
  assert.equal(value.accounts?.[0]?.lamports, SOL);
  assert.ok(Number(value.unitsConsumed) > 0);
  assert.deepEqual([await balance(source.address), await balance(recipient.address)], [10n * SOL, 0n]);
});

test('simulateTransaction needs no signature or fresh blockhash if told so, and otherwise names what is missing', async (t) => {
  const { rpc, wallet, sign } = await startCluster(t);
  const source = await wallet();
  const transfer = getTransferSolInstruction({ source, destination: source.address, amount: 1n });
  const { wire } = await sign(source, [transfer], { blockhash: OLD_BLOCKHASH });
  const unsigned = Buffer.from(wire, 'base64').fill(0, 1, 65).toString('base64') as typeof wire; // same format
  const plain = await rpc.simulateTransaction(unsigned, { encoding: 'base64' }).send();
  assert.equal(plain.value.err, 'BlockhashNotFound');
  const replaced = await rpc
    .simulateTransaction(unsigned, { encoding: 'base64', replaceRecentBlockhash: true, sigVerify: false })
    .send();
  assert.equal(replaced.value.err, null);
  assert.notEqual(replaced.value.replacementBlockhash.blockhash, OLD_BLOCKHASH);
  const verified = await rpc.simulateTransaction(unsigned, { encoding: 'base64', sigVerify: true }).send();
  assert.equal(verified.value.err, 'SignatureFailure');
});

test('simulateTransaction has every documented member, with the balances before and after', async (t) => {
  const { wallet, sign, call } = await startCluster(t);
  const [source, recipient] = [await wallet(), await wallet(0n)];
  const transfer = getTransferSolInstruction({ source, destination: recipient.address, amount: SOL });
  const simulate = async (wire: string) => {
    const { result } = await call('simulateTransaction', [wire, { encoding: 'base64', commitment: 'processed' }]);
    return (result as { value: Record<string, unknown> }).value; // its shape
  };
  const value = await simulate((await sign(source, [transfer])).wire);
  assert.partialDeepStrictEqual(value, {
    err: null,
    accounts: null,
    replacementBlockhash: null,
    innerInstructions: null,
    fee: 5000,
    preBalances: [Number(10n * SOL), 0, 1],
    postBalances: [Number(9n * SOL) - 5000, Number(SOL), 1],
    preTokenBalances: [],
    postTokenBalances: [],
    loadedAddresses: { writable: [], readonly: [] },
  });
  const refused = await simulate((await sign(source, [transfer], { blockhash: OLD_BLOCKHASH })).wire);
  assert.deepEqual(Object.keys(refused).toSorted(), Object.keys(value).toSorted());
});

test('a failed preflight gives the reason in a validator’s words', async (t) => {
  const { wallet, sign, call } = await startCluster(t);
  const payer = await wallet();
  const texts = async (instruction: Instruction) => {
    const { wire } = await sign(payer, [instruction]);
    const { error } = await call('sendTransaction', [wire, { encoding: 'base64', preflightCommitment: 'confirmed' }]);
    return [error?.code, error?.message];
  };
  const programAddress = address('11111111111111111111111111111111');
  assert.deepEqual(await texts({ programAddress, data: Uint8Array.of(99) }), [
    -32002,
    'Transaction simulation failed: Error processing Instruction 0: invalid instruction data',
  ]);
  const broke = (await wallet(0n)).address;
  assert.deepEqual(await texts({ programAddress: broke, data: new Uint8Array() }), [
    -32002,
    'Transaction simulation failed: Attempt to load a program that does not exist',
  ]);
});

test('simulateTransaction returns inner instructions on request', async (t) => {
  const { localnet, rpc, wallet, sign } = await startCluster(t);
  const payer = await wallet();
  const mint = await localnet.bank.createMint(6, false);
  const [ata] = await findAssociatedTokenPda({ owner: payer.address, mint, tokenProgram: TOKEN_PROGRAM_ADDRESS });
  const { wire } = await sign(payer, [
    getCreateAssociatedTokenIdempotentInstruction({ payer, ata, owner: payer.address, mint }),
  ]);
  const { value } = await rpc.simulateTransaction(wire, { encoding: 'base64', innerInstructions: true }).send();
  assert.equal(value.err, null);
  assert.ok((value.innerInstructions?.[0]?.instructions.length ?? 0) >= 3);
});

test('simulations beside sends do not change balances', async (t) => {
  const { wallet, sign, call, balance } = await startCluster(t);
  const [source, recipient] = [await wallet(), await wallet(0n)];
  const wires = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      sign(source, [
        getTransferSolInstruction({ source, destination: recipient.address, amount: SOL / 100n + BigInt(index) }),
      ]),
    ),
  );
  await Promise.all(
    wires.flatMap(({ wire }) => [
      call('sendTransaction', [wire, { encoding: 'base64' }]),
      call('simulateTransaction', [wire, { encoding: 'base64' }]),
    ]),
  );
  const sum = wires.reduce((total, _, index) => total + SOL / 100n + BigInt(index), 0n);
  assert.equal(await balance(recipient.address), sum);
  assert.equal(await balance(source.address), 10n * SOL - sum - 20n * 5000n);
});
