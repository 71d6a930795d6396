import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  AccountRole,
  type Address,
  getAddressDecoder,
  getTransactionMessageComputeUnitLimit,
  getTransactionMessageHeapSize,
  getTransactionMessageSize,
  type Instruction,
} from '@solana/kit';
import fc from 'fast-check';
import {
  appendIfFits,
  MAX_V0_TRANSACTION_BYTES,
  planTransactions,
  type TransactionLimits,
} from '../../src/squads/plan.ts';

const PROGRAM = addressOf(1);
const LIMITS: TransactionLimits = {
  version: 0,
  maxBytes: MAX_V0_TRANSACTION_BYTES,
  feePayer: addressOf(2),
  lookupTables: [],
  computeUnitLimit: 400_000,
  computeUnitPriceMicroLamports: 1_000n,
};

/** With the fee payer, two programs, the compute budget and an empty instruction: 1,232 less 224. */
const ROOM = 1_008;

describe('planning transactions', () => {
  it('packs groups in order until one does not fit', () => {
    // [ 400 | 400 ] [ 400 ]
    assert.deepEqual(plan([400, 400, 400]), [2, 1]);
    // [ 1008 ] [ 10 | 900 ] [ 1008 ]
    assert.deepEqual(plan([ROOM, 10, 900, ROOM]), [1, 2, 1]);
  });

  it('does not look ahead: a small group does not overtake a large one', () => {
    // [ 100 ] [ 950 ] [ 100 ], though the hundreds would share one
    assert.deepEqual(plan([100, 950, 100]), [1, 1, 1]);
  });

  it('never splits a group', () => {
    // [ (300 300) ] [ (300 300) ]
    const group = [instructionOf(300), instructionOf(300)];
    assert.deepEqual(counts(planTransactions([group, group], LIMITS)), [1, 1]);
  });

  it('refuses a group that alone is too large, with its size', () => {
    assert.deepEqual(plan([ROOM]), [1]);
    assert.throws(() => plan([10, ROOM + 1]), /Group 1 of 1 instructions takes 1233 bytes of 1232/);
  });

  it('plans nothing for no groups', () => assert.deepEqual(plan([]), []));

  it('holds to a number of groups', () => {
    const groups = [10, 10, 10].map((bytes) => [instructionOf(bytes)]);
    assert.deepEqual(counts(planTransactions(groups, { ...LIMITS, maxGroups: 2 })), [2, 1]);
  });

  it('puts compute limit, price and heap into every transaction', () => {
    for (const { message } of planTransactions([[instructionOf(900)], [instructionOf(900)]], {
      ...LIMITS,
      heapBytes: 262_144,
    })) {
      assert.equal(getTransactionMessageComputeUnitLimit(message), 400_000);
      assert.equal(getTransactionMessageHeapSize(message), 262_144);
    }
  });

  it('names accounts by the lookup table, but not signers, nor a program it calls', () => {
    const [signer, listed] = [addressOf(3), addressOf(4)];
    const group: Instruction[] = [
      {
        programAddress: PROGRAM,
        accounts: [
          { address: signer, role: AccountRole.READONLY_SIGNER },
          { address: listed, role: AccountRole.WRITABLE },
          { address: PROGRAM, role: AccountRole.READONLY },
        ],
      },
    ];
    const table = { address: addressOf(5), addresses: [signer, listed, PROGRAM] };
    const [without] = planTransactions([group], LIMITS);
    const [withTable] = planTransactions([group], { ...LIMITS, lookupTables: [table] });
    assert.ok(without && withTable);
    // One static key less; the table costs its address, two counts and one index.
    assert.equal(getTransactionMessageSize(withTable.message) - getTransactionMessageSize(without.message), -32 + 35);
  });

  it('appends a tip where there is room, and says where there is none', () => {
    const [roomy] = planTransactions([[instructionOf(100)]], LIMITS);
    const [full] = planTransactions([[instructionOf(ROOM)]], LIMITS);
    assert.ok(roomy && full);
    assert.equal(appendIfFits(roomy.message, [instructionOf(12)], LIMITS)?.instructions.length, 4);
    assert.equal(appendIfFits(full.message, [instructionOf(12)], LIMITS), null);
  });

  it('keeps every group, in order, once, in transactions that fit', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: ROOM }), { maxLength: 40 }), (sizes) => {
        const planned = planTransactions(
          sizes.map((bytes) => [instructionOf(bytes)]),
          LIMITS,
        );
        const kept = planned.flatMap(({ message }) =>
          message.instructions
            .filter(({ programAddress }) => programAddress === PROGRAM)
            .map(({ data }) => data?.length),
        );
        assert.deepEqual(kept, sizes);
        for (const { message } of planned) assert.ok(getTransactionMessageSize(message) <= MAX_V0_TRANSACTION_BYTES);
        assert.equal(
          counts(planned).reduce((sum, count) => sum + count, 0),
          sizes.length,
        );
      }),
      { numRuns: 30 },
    );
  });
});

function plan(sizes: readonly number[]): number[] {
  return counts(
    planTransactions(
      sizes.map((bytes) => [instructionOf(bytes)]),
      LIMITS,
    ),
  );
}

function counts(planned: ReturnType<typeof planTransactions>): number[] {
  return planned.map(({ groupCount }) => groupCount);
}

function instructionOf(bytes: number): Instruction {
  return { programAddress: PROGRAM, data: new Uint8Array(bytes) };
}

function addressOf(byte: number): Address {
  return getAddressDecoder().decode(new Uint8Array(32).fill(byte));
}
