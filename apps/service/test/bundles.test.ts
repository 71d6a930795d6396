import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planTransactions } from '@flywheel/squads';
import { type Address, generateKeyPairSigner, type Instruction } from '@solana/kit';
import { withTip } from '../src/batches/bundles/assemble-bundle.ts';
import { tipOf } from '../src/solana/block-engine.ts';

describe('withTip', () => {
  it('makes no two equal transactions of tips that need one of their own', async () => {
    const [operator, tipAccount, program] = [await newAddress(), await newAddress(), await newAddress()];
    const full: Instruction = { programAddress: program, data: new Uint8Array(1_000) };
    const limits = { version: 0, feePayer: operator, lookupTables: [], computeUnitPriceMicroLamports: 1_000n } as const;
    const planned = planTransactions([{ instructions: [full], computeUnits: 1_000, traceLength: 1 }], limits);
    const tip = tipOf(operator, tipAccount, 1_000n);
    const tips = Array.from({ length: 40 }, () => {
      const { messages, count } = withTip(planned, tip, { room: 5, operator });
      assert.equal(count, 1);
      const [, alone] = messages;
      return JSON.stringify(alone?.instructions.map(({ data }) => Array.from(data ?? [])));
    });
    // Two of 40 among 16,384 are equal once in twenty runs, and three pairs next to never.
    assert.ok(new Set(tips).size > 36, `${new Set(tips).size} different tips of ${tips.length}`);
  });
});

async function newAddress(): Promise<Address> {
  return (await generateKeyPairSigner()).address;
}
