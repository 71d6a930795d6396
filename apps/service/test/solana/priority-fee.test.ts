import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readComputeUnitPrice } from '../../src/solana/priority-fee.ts';

describe('the price of a compute unit', () => {
  it('is what three of four recent blocks asked for at most', async () => {
    assert.equal(await priceOf([9_000n, 2_000n, 5_000n, 7_000n, 3_000n]), 7_000n);
  });

  it('is within its bounds', async () => {
    assert.equal(await priceOf([0n, 0n, 0n]), 1_000n);
    assert.equal(await priceOf([]), 1_000n);
    assert.equal(await priceOf([10n ** 9n]), 100_000n);
  });

  it('is the least, with a warning, where the node does not say', async () => {
    const warnings: string[] = [];
    const log = { warn: (_fields: object, message: string) => void warnings.push(message) };
    const chain = { recentPrioritizationFees: () => Promise.reject(new Error('Method not found')) };
    assert.equal(await readComputeUnitPrice({ chain, log }, [], 100_000n), 1_000n);
    assert.equal(warnings.length, 1);
  });
});

function priceOf(fees: readonly bigint[]): Promise<bigint> {
  return readComputeUnitPrice({ chain: { recentPrioritizationFees: async () => fees } }, [], 100_000n);
}
