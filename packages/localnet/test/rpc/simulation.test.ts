import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Blockhash } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import {
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';
import { SOL, startCluster } from '../cluster.ts';

const OLD_BLOCKHASH = '4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi' as Blockhash;

test('shows the accounts as they would be, and changes nothing', async (t) => {
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

test('needs neither a signature nor a fresh blockhash when told so, and else says what is missing', async (t) => {
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

test('returns inner instructions when asked for', async (t) => {
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

test('twenty simulations and sends at once leave the balances that the sends alone would', async (t) => {
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
