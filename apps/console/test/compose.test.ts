import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pipeline, PreviewBatchResponse } from '@flywheel/api';
import { readPipeline } from '../src/features/compose/pipeline-draft.ts';
import { planBatches, splitPipelines, totalPreviews } from '../src/features/compose/planned-batches.ts';

const WALLET = '9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM';

describe('a composed batch', () => {
  it('is split at a thousand pipelines, in order', () => {
    const pipelines = Array.from({ length: 2_001 }, (_, index) => burnOf(index + 1));
    const batches = splitPipelines(pipelines);
    assert.deepEqual(
      batches.map((batch) => batch.length),
      [1_000, 1_000, 1],
    );
    assert.deepEqual(batches.flat(), pipelines);
  });

  it('is split before a request exceeds the service’s limit', () => {
    const payload = JSON.stringify({ text: 'x'.repeat(60_000) });
    const batches = splitPipelines(Array.from({ length: 70 }, () => ({ ...burnOf(1), payload })));
    assert.equal(batches.length, 3);
    for (const pipelines of batches) {
      assert.ok(Buffer.byteLength(JSON.stringify({ pipelines })) <= 2 * 1_024 * 1_024);
    }
  });

  it('keeps its idempotency key once it was sent, and only then', () => {
    const burns = Array.from({ length: 1_001 }, (_, index) => burnOf(index + 1));
    const sent = planBatches(burns, []);
    assert.deepEqual(planBatches(burns, sent), sent);
    const [first, second] = planBatches([...burns, burnOf(9)], sent);
    assert.equal(first?.idempotencyKey, sent[0]?.idempotencyKey);
    assert.notEqual(second?.idempotencyKey, sent[1]?.idempotencyKey);
    const edited = planBatches([burnOf(8)], sent);
    assert.deepEqual(planBatches(burns, [...sent, ...edited]), sent, 'what was edited and changed back is the same');
    assert.deepEqual(planBatches(burns.slice(1_000), sent), [sent[1]], 'and what stands at another place');
    const twice = [...burns.slice(0, 1_000), ...burns.slice(0, 1_000)];
    const [one, other] = planBatches(twice, sent);
    assert.equal(one?.idempotencyKey, sent[0]?.idempotencyKey);
    assert.notEqual(other?.idempotencyKey, one?.idempotencyKey);
  });

  it('is read from the form, or names the first issue', () => {
    const action = { key: 'a', kind: 'AIRDROP', amount: '1.25', toAddress: WALLET, message: '' } as const;
    const draft = { key: 'p', type: 'WATCH_AD', payload: '{"adId":"1"}', actions: [action] };
    const rules = { decimals: 2 };
    const memo = (message: string) => ({ ...action, kind: 'MEMO', message }) as const;
    assert.deepEqual(readPipeline(draft, rules), {
      type: 'WATCH_AD',
      payload: '{"adId":"1"}',
      actions: [{ action: 'AIRDROP', toAddress: WALLET, amount: 1.25 }],
    });
    const issues = [
      [{ ...draft, type: 'watch ad' }, /The type must have/],
      [{ ...draft, payload: '{' }, /The payload is not the text of a JSON object \(/],
      [{ ...draft, payload: '[]' }, /The payload must be the text of one JSON object, not of an array/],
      [{ ...draft, payload: '{"adId":"\ud800"}' }, /The payload holds half of a surrogate pair/],
      [{ ...draft, actions: [] }, /no actions/],
      [{ ...draft, actions: [{ ...action, amount: '1.255' }] }, /has 2 decimals/],
      [{ ...draft, actions: [{ ...action, amount: '1,5' }] }, /without commas/],
      [{ ...draft, actions: [{ ...action, amount: '12345678901234.25' }] }, /significant digits/],
      [{ ...draft, actions: [{ ...action, toAddress: 'nobody' }] }, /This is not a Solana address/],
      [{ ...draft, actions: [memo('x'.repeat(900))] }, /^\d{4} bytes; one transaction holds 856$/],
      [
        { ...draft, actions: Array.from({ length: 64 }, () => memo('x')) },
        /^\d\d instructions; one transaction runs 64$/,
      ],
    ] as const;
    for (const [draftWithIssue, expected] of issues) {
      const read = readPipeline(draftWithIssue, rules);
      assert.match('issue' in read ? read.issue : 'nothing', expected);
    }
  });

  it('is checked against the limits and the vault as a whole if it is split', () => {
    const sums = totalPreviews([preview({ asked: '60' }), preview({ asked: '60.5' })]);
    assert.equal(sums.airdrop.asked, '120.5');
    assert.deepEqual(sums.tokens, { available: '100', needed: '120.5', missing: '20.5' });
    assert.equal(sums.cost.feeLamports, '10');
    assert.equal(sums.isBlocked, true);
    assert.equal(totalPreviews([preview({ asked: '60' })]).isBlocked, false);
  });

  it('can be created while the vault lacks tokens, and not while a pipeline has an issue', () => {
    const withProblem = (code: string) =>
      totalPreviews([{ ...preview({ asked: '1' }), problems: [{ code, message: '' }] }]);
    assert.equal(withProblem('ERR_VAULT_UNDERFUNDED').isBlocked, false);
    assert.equal(withProblem('ERR_FLYWHEEL_INVALID_PROOF_TYPE').isBlocked, true);
  });
});

function burnOf(amount: number): Pipeline {
  return { type: 'WATCH_AD', payload: '{}', actions: [{ action: 'BURN', amount }] };
}

function preview({ asked }: { readonly asked: string }): PreviewBatchResponse {
  const resetsAt = '2026-11-22T00:00:00.000Z';
  const nothing = { cap: '100', used: '0', asked: '0', left: '100', resetsAt };
  const missing = Number(asked) > 100 ? String(Number(asked) - 100) : '0';
  return {
    pipelines: [],
    problems: [],
    funds: {
      tokens: { needed: asked, available: '100', missing },
      lamports: { needed: '0', available: '5', missing: '0' },
    },
    limits: { burn: nothing, airdrop: { ...nothing, asked } },
    cost: {
      feeLamports: '5',
      tipLamports: '0',
      vaultRentLamports: '0',
      rentLockedLamports: '0',
      operatorNetLamports: '5',
    },
  };
}
