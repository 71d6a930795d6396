import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { priorityFeeLamports } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { ChainAccount } from '../../src/solana/chain.ts';
import { createVersionChoice, readComputeUnitPrice } from '../../src/solana/sending-terms.ts';

const HOUR_MS = 60 * 60_000;
const ACTIVE = Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0, 0);

describe('createVersionChoice', () => {
  it('chooses version 1 if the feature is active, and 0 if it is absent, pending or of another program', async () => {
    assert.equal(await choiceWith(featureOf(ACTIVE)).choice.current(0), 1);
    assert.equal(await choiceWith(null).choice.current(0), 0);
    assert.equal(await choiceWith(featureOf(Uint8Array.of(0))).choice.current(0), 0);
    const foreign = { ...featureOf(ACTIVE), programAddress: '11111111111111111111111111111111' as Address };
    assert.equal(await choiceWith(foreign).choice.current(0), 0);
  });

  it('chooses version 0 for transactions that were lost before', async () => {
    const { choice } = choiceWith(featureOf(ACTIVE));
    assert.equal(await choice.current(1), 0);
    assert.equal(await choice.current(0), 1);
  });

  it('chooses version 0 for an hour after a rejection or two losses in a row', async () => {
    for (const outcomes of [['rejected'], ['lost', 'lost']] as const) {
      const { choice, pass } = choiceWith(featureOf(ACTIVE));
      for (const outcome of outcomes) choice.report(outcome);
      assert.equal(await choice.current(0), 0);
      pass(HOUR_MS);
      assert.equal(await choice.current(0), 1);
    }
    const { choice } = choiceWith(featureOf(ACTIVE));
    for (const outcome of ['lost', 'landed', 'lost'] as const) choice.report(outcome);
    assert.equal(await choice.current(0), 1);
  });

  it('asks a cluster without the feature once an hour', async () => {
    const { choice, pass, asked } = choiceWith(null);
    for (let i = 0; i < 3; i += 1) await choice.current(0);
    assert.equal(asked(), 1);
    pass(HOUR_MS);
    await choice.current(0);
    assert.equal(asked(), 2);
  });
});

describe('readComputeUnitPrice', () => {
  it('returns the price that three of four recent blocks accepted', async () => {
    assert.equal(await priceOf([9_000n, 2_000n, 5_000n, 7_000n, 3_000n]), 7_000n);
  });

  it('does not follow what its own fees show, which are whole lamports', async () => {
    const units = 15_500;
    const paid = priorityFeeLamports(units, 1_000n);
    const shown = (paid * 1_000_000n) / BigInt(units);
    assert.ok(shown > 1_000n);
    assert.equal(await priceOf([shown, shown]), 1_000n);
  });

  it('stays within its bounds', async () => {
    assert.equal(await priceOf([0n, 0n, 0n]), 1_000n);
    assert.equal(await priceOf([]), 1_000n);
    assert.equal(await priceOf([10n ** 9n]), 100_000n);
  });

  it('returns the minimum, with a warning, if the node does not answer', async () => {
    const warnings: string[] = [];
    const log = { warn: (_fields: object, message: string) => void warnings.push(message) };
    const chain = { recentPrioritizationFees: () => Promise.reject(new Error('Method not found')) };
    assert.equal(await readComputeUnitPrice({ chain, log }, [], 100_000n), 1_000n);
    assert.equal(warnings.length, 1);
  });
});

function choiceWith(feature: ChainAccount | null) {
  let nowMs = 0;
  let questions = 0;
  const chain = {
    accounts: async () => {
      questions += 1;
      return [feature];
    },
  };
  return {
    choice: createVersionChoice({ chain, clock: { now: () => new Date(nowMs) } }),
    pass: (ms: number) => {
      nowMs += ms;
    },
    asked: () => questions,
  };
}

function featureOf(data: Uint8Array): ChainAccount {
  return {
    address: 'txv1aq4pp281K9um3tnPgkfX8UqtFT6wcVW3hNezGLL' as Address,
    programAddress: 'Feature111111111111111111111111111111111111' as Address,
    lamports: 1n,
    executable: false,
    data,
    space: BigInt(data.length),
  };
}

function priceOf(fees: readonly bigint[]): Promise<bigint> {
  return readComputeUnitPrice({ chain: { recentPrioritizationFees: async () => fees } }, [], 100_000n);
}
