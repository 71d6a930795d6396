import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Address, Instruction } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import fc from 'fast-check';
import { SOL, startCluster } from '../cluster.ts';

const COMPUTE_BUDGET = 'ComputeBudget111111111111111111111111111111' as Address;
const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr' as Address;

test('the predicted and the recorded fee equal the fee that the runtime charges', async (t) => {
  const cluster = await startCluster(t);
  const [payer, second] = [await cluster.wallet(1_000_000n * SOL), await cluster.wallet()];
  const shapes = fc.record({
    limit: fc.option(fc.integer({ min: 20_000, max: 2_000_000 })),
    price: fc.option(fc.bigInt({ min: 0n, max: 5_000_000_000n })),
    transfers: fc.integer({ min: 0, max: 3 }),
    memos: fc.integer({ min: 0, max: 2 }),
    signers: fc.integer({ min: 1, max: 2 }),
  });
  await fc.assert(
    fc.asyncProperty(shapes, async ({ limit, price, transfers, memos, signers }) => {
      await cluster.localnet.warp();
      const instructions = [
        ...(limit === null ? [] : [computeBudget(2, 4, BigInt(limit))]),
        ...(price === null ? [] : [computeBudget(3, 8, price)]),
        ...Array.from({ length: transfers }, () =>
          getTransferSolInstruction({ source: payer, destination: payer.address, amount: 1n }),
        ),
        ...Array.from({ length: memos }, () => memo('fee')),
        ...(signers === 2
          ? [getTransferSolInstruction({ source: second, destination: second.address, amount: 1n })]
          : []),
      ];
      const before = await cluster.balance(payer.address);
      const { wire, signature } = await cluster.sign(payer, instructions);
      const messageBytes = Buffer.from(wire, 'base64').subarray(1 + 64 * signers);
      const foretold = await cluster.call('getFeeForMessage', [
        messageBytes.toString('base64'),
        { commitment: 'processed' },
      ]);
      await cluster.submit(wire, { skipPreflight: true });
      const taken = before - (await cluster.balance(payer.address));
      await cluster.localnet.warp();
      const transaction = await cluster.rpc
        .getTransaction(signature, { commitment: 'confirmed', encoding: 'json', maxSupportedTransactionVersion: 0 })
        .send();
      assert.equal(transaction?.meta?.err, null);
      assert.equal(transaction?.meta?.fee, taken);
      assert.partialDeepStrictEqual(foretold.result, { value: Number(taken) });
    }),
    { numRuns: 60 },
  );
});

function computeBudget(tag: number, bytes: number, value: bigint): Instruction {
  const encoded = Buffer.alloc(1 + 8);
  encoded.writeUInt8(tag, 0);
  encoded.writeBigUInt64LE(value, 1);
  return { programAddress: COMPUTE_BUDGET, data: new Uint8Array(encoded.subarray(0, 1 + bytes)) };
}

function memo(text: string): Instruction {
  return { programAddress: MEMO_PROGRAM, data: new TextEncoder().encode(text) };
}
