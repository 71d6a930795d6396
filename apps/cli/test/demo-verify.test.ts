import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Pipeline } from '@flywheel/api';
import { type Evidence, type ExpectedEffects, expectEffects, verify } from '../src/commands/demo/verify.ts';

const DECIMALS = 2;
const NEWCOMER = '12ZgF2f89ZxX9ANd6eNLh8h8LywmmKj2E3DJRn7QxfV9';
const HOLDER = 'tNKFd4F2CVwVtJx6Dg9veLLazu5xjUeHRzvdWtjmVjx';
const WATCHED: Pipeline = {
  type: 'WATCH_AD',
  payload: '{"adId":"ad-1"}',
  actions: [
    { action: 'BURN', amount: 0.25 },
    { action: 'AIRDROP', toAddress: NEWCOMER, amount: 1.5 },
  ],
};
const PURCHASED: Pipeline = {
  type: 'PRODUCT_PURCHASE',
  payload: '{"orderId":"SO-1"}',
  actions: [
    { action: 'AIRDROP', toAddress: HOLDER, amount: 3 },
    { action: 'MEMO', message: 'Order SO-1' },
  ],
};

let expected: ExpectedEffects;
/** A chain on which everything went as requested. */
let evidence: Evidence;

before(async () => {
  expected = expectEffects([WATCHED, WATCHED, PURCHASED], DECIMALS);
  const [watched = '', again = '', purchased = ''] = expected.proofs.map(({ memo }) => memo);
  evidence = {
    batch: {
      id: 'b-1',
      status: 'EXECUTED',
      executeResult: { total: 3, totalSuccessful: 3, totalFailed: 0, successfulExecutions: [] },
    },
    expected,
    before: {
      supplyBaseUnits: 100_000n,
      vaultBaseUnits: 5_000n,
      balances: new Map([
        [NEWCOMER, null],
        [HOLDER, 1_000n],
      ]),
    },
    after: {
      supplyBaseUnits: 99_950n,
      vaultBaseUnits: 4_350n,
      balances: new Map([
        [NEWCOMER, 300n],
        [HOLDER, 1_300n],
      ]),
    },
    transactions: [
      { signature: 's1', succeeded: true, vaultMemos: [watched, again] },
      { signature: 's2', succeeded: true, vaultMemos: [purchased, 'Order SO-1'] },
    ],
  };
});

describe('verify', () => {
  it('passes if the chain shows exactly the requested effects', () => {
    const verification = verify(evidence);
    assert.deepEqual(verification.problems, []);
    assert.equal(verification.ok, true);
    assert.deepEqual([verification.burned, verification.airdropped], ['0.5', '6']);
    assert.deepEqual(
      verification.recipients.map(({ address, isNew, before, airdropped, after }) => [
        address,
        isNew,
        before,
        airdropped,
        after,
      ]),
      [
        [NEWCOMER, true, '0', '3', '3'],
        [HOLDER, false, '10', '3', '13'],
      ],
    );
    assert.deepEqual(
      verification.proofs.map(({ pipeline, signature }) => [pipeline, signature]),
      [
        [0, 's1'],
        [1, 's1'],
        [2, 's2'],
      ],
    );
  });

  it('fails if the supply fell by a base unit too little or too much', () => {
    for (const supplyBaseUnits of [99_949n, 99_951n, 100_000n]) {
      const after = { ...evidence.after, supplyBaseUnits };
      failsWith({ after }, /^The supply is \S+ tokens; expected 999\.5\.$/);
    }
  });

  it('fails if a recipient holds a base unit too little or too much, or has no account', () => {
    for (const holds of [299n, 301n, null]) {
      const balances = new Map([...evidence.after.balances, [NEWCOMER, holds]] as const);
      failsWith({ after: { ...evidence.after, balances } }, /^12Zg\w+ holds \S+ tokens; expected 3\.$/);
    }
  });

  it('fails if the vault paid more than requested', () => {
    failsWith(
      { after: { ...evidence.after, vaultBaseUnits: 4_349n } },
      /^The vault holds 43\.49 tokens; expected 43\.5\.$/,
    );
  });

  it('fails if a proof memo is missing, not signed by the vault, or of another payload', async () => {
    const forged = expectEffects([{ ...PURCHASED, payload: '{"orderId":"SO-2"}' }], DECIMALS);
    for (const memos of [['Order SO-1'], ['Order SO-1', forged.proofs[0]?.memo ?? '']]) {
      const [first] = evidence.transactions;
      assert.ok(first);
      const transactions = [first, { signature: 's2', succeeded: true, vaultMemos: memos }];
      failsWith({ transactions }, /^The proof memo of pipeline 2 is not on chain: flywheel:v1:PRODUCT_PURCHASE:/);
    }
  });

  it('fails if two equal pipelines have only one memo on chain', () => {
    const [first, second] = evidence.transactions;
    assert.ok(first && second);
    const transactions = [{ ...first, vaultMemos: first.vaultMemos.slice(1) }, second];
    failsWith({ transactions }, /^The proof memo of pipeline 1 is not on chain/);
  });

  it('fails if the memo of a MEMO action is missing', () => {
    const [first, second] = evidence.transactions;
    assert.ok(first && second);
    const transactions = [first, { ...second, vaultMemos: second.vaultMemos.slice(0, 1) }];
    failsWith({ transactions }, /^A memo of pipeline 2 is not on chain: Order SO-1$/);
  });

  it('fails if the batch is not EXECUTED', () => {
    const batch = { ...evidence.batch, status: 'FAILED' as const };
    failsWith({ batch }, /^Batch b-1 is FAILED: the service gave no reason\.$/);
  });

  it('fails if a reported transaction is not on chain', () => {
    const [first, second] = evidence.transactions;
    assert.ok(first && second);
    const transactions = [first, { ...second, succeeded: false, vaultMemos: [] }];
    const { ok, problems } = verify({ ...evidence, transactions });
    assert.equal(ok, false);
    assert.match(problems.join('\n'), /Transaction s2 is not on chain, or failed/);
  });
});

/** Asserts that exactly this mismatch is reported. */
function failsWith(changes: Partial<Evidence>, mismatch: RegExp): void {
  const verification = verify({ ...evidence, ...changes });
  assert.equal(verification.ok, false);
  assert.equal(verification.problems.length, 1, verification.problems.join('\n'));
  assert.match(verification.problems[0] ?? '', mismatch);
}
