import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_TRANSACTION_BYTES } from '@flywheel/protocol';
import {
  AccountRole,
  getTransactionMessageComputeUnitLimit,
  getTransactionMessageComputeUnitPrice,
  getTransactionMessageHeapSize,
  getTransactionMessageLoadedAccountsDataSizeLimit,
  getTransactionMessagePriorityFeeLamports,
  getTransactionMessageSize,
  type Instruction,
} from '@solana/kit';
import { MAX_COMPUTE_UNIT_LIMIT } from '@solana-program/compute-budget';
import fc from 'fast-check';
import { appendIfFits, type InstructionGroup, planTransactions, type TransactionLimits } from '../src/index.ts';
import { addressOf } from './values.ts';

const PROGRAM = addressOf(1);
const LIMITS: TransactionLimits = {
  version: 0,
  feePayer: addressOf(2),
  lookupTables: [],
  computeUnitPriceMicroLamports: 1_000n,
};

/** With the fee payer, two programs, the compute budget and an empty instruction: 1,232 less 224. */
const ROOM = 1_008;

describe('planTransactions', () => {
  it('packs groups in order until one does not fit', () => {
    // [ 400 | 400 ] [ 400 ]
    assert.deepEqual(plan([400, 400, 400]), [2, 1]);
    // [ 1008 ] [ 10 | 900 ] [ 1008 ]
    assert.deepEqual(plan([ROOM, 10, 900, ROOM]), [1, 2, 1]);
  });

  it('keeps the order: a small group never overtakes a large one', () => {
    // [ 100 ] [ 950 ] [ 100 ], though the hundreds would share one
    assert.deepEqual(plan([100, 950, 100]), [1, 1, 1]);
  });

  it('never splits a group', () => {
    // [ (300 300) ] [ (300 300) ]
    const group = groupOf([instructionOf(300), instructionOf(300)]);
    assert.deepEqual(counts(planTransactions([group, group], LIMITS)), [1, 1]);
  });

  it('rejects a group that is too large alone, with its size', () => {
    assert.deepEqual(plan([ROOM]), [1]);
    assert.throws(
      () => plan([10, ROOM + 1]),
      /Group 1 has 1 instructions that need 1233 bytes and 3 accounts; one transaction holds 1232 bytes/,
    );
  });

  it('plans no transactions for no groups', () => assert.deepEqual(plan([]), []));

  it('keeps to a maximum number of groups', () => {
    const groups = [10, 10, 10].map((bytes) => groupOf([instructionOf(bytes)]));
    assert.deepEqual(counts(planTransactions(groups, { ...LIMITS, maxGroups: 2 })), [2, 1]);
  });

  it('puts compute limit, price and heap into every transaction', () => {
    for (const { message } of planTransactions([groupOf([instructionOf(900)]), groupOf([instructionOf(900)])], {
      ...LIMITS,
      heapBytes: 262_144,
    })) {
      assert.equal(getTransactionMessageComputeUnitLimit(message), 51_000);
      assert.ok(message.version === 0);
      assert.equal(getTransactionMessageComputeUnitPrice(message), 1_000n);
      assert.equal(getTransactionMessageHeapSize(message), 262_144);
    }
  });

  it('requests only the units that the groups need, up to a transaction’s maximum', () => {
    // [ 600,000 | 600,000 ] [ 600,000 ]
    const heavy = groupOf([instructionOf(10)], { computeUnits: 600_000 });
    const planned = planTransactions([heavy, heavy, heavy], LIMITS);
    assert.deepEqual(counts(planned), [2, 1]);
    assert.deepEqual(planned.map(limitOf), [1_201_000, 601_000]);
    const [alone] = planTransactions([groupOf([instructionOf(10)], { computeUnits: MAX_COMPUTE_UNIT_LIMIT })], LIMITS);
    assert.ok(alone);
    assert.equal(limitOf(alone), MAX_COMPUTE_UNIT_LIMIT);
    assert.deepEqual(planTransactions([heavy], { ...LIMITS, computeUnitLimit: 7 }).map(limitOf), [7]);
  });

  it('keeps to 64 traced instructions and to 64 accounts', () => {
    // [ 30 | 30 ] [ 30 ]
    const deep = groupOf([instructionOf(10)], { traceLength: 30 });
    assert.deepEqual(counts(planTransactions([deep, deep, deep], LIMITS)), [2, 1]);
    // The fee payer, the program, and 31 accounts of each.
    const crowded = [0, 1, 2].map((part) =>
      groupOf([
        {
          programAddress: PROGRAM,
          accounts: Array.from({ length: 31 }, (_, i) => ({
            address: addressOf(100 + 31 * part + i),
            role: AccountRole.WRITABLE,
          })),
        },
      ]),
    );
    assert.deepEqual(counts(planTransactions(crowded, { ...LIMITS, version: 1 })), [2, 1]);
  });

  it('of version 1 uses 4,096 bytes, states the whole budget, pays in lamports and has no lookup tables', () => {
    // [ 1250 | 1250 | 1250 ] [ 1250 ]
    const groups = [1_250, 1_250, 1_250, 1_250].map((bytes) => groupOf([instructionOf(bytes)]));
    const table = { address: addressOf(5), addresses: [PROGRAM] };
    const planned = planTransactions(groups, { ...LIMITS, version: 1, heapBytes: 262_144, lookupTables: [table] });
    assert.deepEqual(counts(planned), [3, 1]);
    const [first] = planned;
    assert.ok(first?.message.version === 1);
    assert.ok(getTransactionMessageSize(first.message) <= MAX_TRANSACTION_BYTES[1]);
    assert.equal(limitOf(first), 151_000);
    assert.equal(getTransactionMessageHeapSize(first.message), 262_144);
    assert.equal(getTransactionMessageLoadedAccountsDataSizeLimit(first.message), 64 * 1_024 * 1_024);
    assert.equal(getTransactionMessagePriorityFeeLamports(first.message), 151n);
    assert.equal(first.message.instructions.length, 3);
  });

  it('names accounts by the lookup table, except signers and called programs', () => {
    const [signer, listed] = [addressOf(3), addressOf(4)];
    const group = groupOf([
      {
        programAddress: PROGRAM,
        accounts: [
          { address: signer, role: AccountRole.READONLY_SIGNER },
          { address: listed, role: AccountRole.WRITABLE },
          { address: PROGRAM, role: AccountRole.READONLY },
        ],
      },
    ]);
    const table = { address: addressOf(5), addresses: [signer, listed, PROGRAM] };
    const [without] = planTransactions([group], LIMITS);
    const [withTable] = planTransactions([group], { ...LIMITS, lookupTables: [table] });
    assert.ok(without && withTable);
    // One static key less; the table costs its address, two counts and one index.
    assert.equal(getTransactionMessageSize(withTable.message) - getTransactionMessageSize(without.message), -32 + 35);
  });

  it('appends a tip if there is space, and says if there is none', () => {
    const [roomy] = planTransactions([groupOf([instructionOf(100)])], LIMITS);
    const [full] = planTransactions([groupOf([instructionOf(ROOM)])], LIMITS);
    assert.ok(roomy && full);
    assert.equal(appendIfFits(roomy.message, [instructionOf(12)])?.instructions.length, 4);
    assert.equal(appendIfFits(full.message, [instructionOf(12)]), null);
  });

  it('leaves room for a tip in the last transaction of each bundle only', () => {
    const tip = instructionOf(12);
    const groups = Array.from({ length: 12 }, () => groupOf([instructionOf(ROOM / 2 - 5)]));
    const bundles = { size: 3, taken: 0, last: [tip] };
    const roomOf = (planned: ReturnType<typeof planTransactions>) =>
      planned.map(({ message }) => appendIfFits(message, [tip]) !== null);
    // [ 2 | 2 | 1 + tip ] [ 2 | 2 | 1 + tip ] [ 2 ]
    const planned = planTransactions(groups, { ...LIMITS, bundles });
    assert.deepEqual(counts(planned), [2, 2, 1, 2, 2, 1, 2]);
    assert.deepEqual(roomOf(planned), [false, false, true, false, false, true, false]);
    // A transaction is in the first bundle already.
    const behind = planTransactions(groups, { ...LIMITS, bundles: { ...bundles, taken: 1 } });
    assert.deepEqual(counts(behind), [2, 1, 2, 2, 1, 2, 2]);
  });

  it('begins the next bundle with a group that leaves no room for the tip', () => {
    const bundles = { size: 2, taken: 0, last: [instructionOf(12)] };
    const half = ROOM / 2 - 5;
    const groups = [half, half, ROOM, half, half, half].map((bytes) => groupOf([instructionOf(bytes)]));
    // [ 2 | tip ] [ ROOM | 1 + tip ] [ 2 ]
    assert.deepEqual(counts(planTransactions(groups, { ...LIMITS, bundles })), [2, 1, 1, 2]);
  });

  it('keeps every group once, in order, in transactions that fit', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: ROOM }), { maxLength: 40 }), (sizes) => {
        const planned = planTransactions(
          sizes.map((bytes) => groupOf([instructionOf(bytes)])),
          LIMITS,
        );
        const kept = planned.flatMap(({ message }) =>
          message.instructions
            .filter(({ programAddress }) => programAddress === PROGRAM)
            .map(({ data }) => data?.length),
        );
        assert.deepEqual(kept, sizes);
        for (const { message } of planned) assert.ok(getTransactionMessageSize(message) <= MAX_TRANSACTION_BYTES[0]);
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
      sizes.map((bytes) => groupOf([instructionOf(bytes)])),
      LIMITS,
    ),
  );
}

function counts(planned: ReturnType<typeof planTransactions>): number[] {
  return planned.map(({ groupCount }) => groupCount);
}

function limitOf({ message }: ReturnType<typeof planTransactions>[number]): number | undefined {
  return getTransactionMessageComputeUnitLimit(message);
}

function groupOf(
  instructions: readonly Instruction[],
  { computeUnits = 50_000, traceLength = 1 }: Partial<InstructionGroup> = {},
): InstructionGroup {
  return { instructions, computeUnits, traceLength };
}

function instructionOf(bytes: number): Instruction {
  return { programAddress: PROGRAM, data: new Uint8Array(bytes) };
}
