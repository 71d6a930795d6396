import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, generateKeyPairSigner } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import fc from 'fast-check';
import { SOL, startCluster } from '../cluster.ts';

/** JSON-RPC's code for an internal error. */
const INTERNAL_ERROR = -32603;
const BUNDLES = '/api/v1/bundles';

test('a transaction of arbitrary bytes is rejected with a reason or costs only a fee, and the cluster continues', async (t) => {
  const { call, wallet, sign, balance } = await startCluster(t);
  const [payer, recipient] = [await wallet(100n * SOL), await wallet(0n)];
  const { wire } = await sign(payer, [
    getTransferSolInstruction({ source: payer, destination: recipient.address, amount: SOL }),
  ]);
  const valid = Buffer.from(wire, 'base64');
  const mutated = fc
    .array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
    .map((changes) => {
      const bytes = Buffer.from(valid);
      for (const [at, byte] of changes) bytes[at] = byte;
      return bytes;
    })
    .filter((bytes) => !bytes.equals(valid));
  const cut = fc.nat(valid.length - 1).map((length) => valid.subarray(0, length));
  const grown = fc.uint8Array({ minLength: 1, maxLength: 40 }).map((more) => Buffer.concat([valid, more]));
  const random = fc.uint8Array({ maxLength: 5_000 }).map((bytes) => Buffer.from(bytes));
  const versioned = fc
    .tuple(fc.constantFrom(0x80, 0x81, 0x82, 0xff), fc.uint8Array({ maxLength: 300 }))
    .map(([prefix, bytes]) => Buffer.concat([Buffer.of(prefix), bytes]));
  const text = fc.oneof(
    { weight: 8, arbitrary: fc.oneof(mutated, cut, grown, random, versioned).map((bytes) => bytes.toString('base64')) },
    { weight: 1, arbitrary: fc.string() },
  );
  await fc.assert(
    fc.asyncProperty(text, async (garbage) => {
      const base64 = { encoding: 'base64' };
      for (const { error } of [
        await call('sendTransaction', [garbage, base64]),
        await call('sendTransaction', [garbage, { ...base64, skipPreflight: true }]),
        await call('simulateTransaction', [garbage, base64]),
        await call('simulateTransaction', [garbage, { ...base64, sigVerify: true }]),
        await call('getFeeForMessage', [garbage]),
        await call('sendBundle', [[garbage], base64], BUNDLES),
      ]) {
        assert.notEqual(error?.code, INTERNAL_ERROR, error?.message);
      }
    }),
    { numRuns: 300 },
  );
  assert.equal(await balance(recipient.address), 0n);
  assert.equal((await call('sendTransaction', [wire, { encoding: 'base64' }])).error, undefined);
  assert.equal(await balance(recipient.address), SOL);
});

test('a transaction that calls an account that is not a program is rejected with Solana’s error name', async (t) => {
  const { call, wallet, sign } = await startCluster(t);
  const [payer, other] = [await wallet(), await wallet()];
  const nothing: Address = (await generateKeyPairSigner()).address;
  const { wire } = await sign(payer, [{ programAddress: nothing, data: Uint8Array.of(1) }]);
  const { error } = await call('sendTransaction', [wire, { encoding: 'base64' }]);
  assert.equal(error?.code, -32002);
  assert.partialDeepStrictEqual(error?.data, { err: 'ProgramAccountNotFound' });
  const wallets = await sign(payer, [{ programAddress: other.address, data: Uint8Array.of(1) }]);
  const { error: second } = await call('sendTransaction', [wallets.wire, { encoding: 'base64' }]);
  assert.partialDeepStrictEqual(second?.data, { err: 'InvalidProgramForExecution' });
});
