import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { firstPipeline } from '../src/lib/first-pipeline.ts';

describe('the first pipeline of the samples', () => {
  it('is one that the project allows', () => {
    const actionOf = (scopes: readonly ('burn' | 'airdrop')[]) => firstPipeline({ scopes }).actions[0]?.action;
    assert.deepEqual([actionOf(['burn', 'airdrop']), actionOf(['airdrop'])], ['BURN', 'MEMO']);
    const strict = { type: 'STRICT', payloadSchema: { type: 'object' } };
    const typeOf = (proofTypes: readonly { readonly type: string }[]) => firstPipeline({ proofTypes }).type;
    assert.deepEqual([typeOf([]), typeOf([strict]), typeOf([strict, { type: 'ANY' }])], ['WATCH_AD', 'STRICT', 'ANY']);
  });
});
