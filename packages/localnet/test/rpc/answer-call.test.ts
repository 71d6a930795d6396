import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerCalls } from '../../src/rpc/answer-call.ts';

test('a batch lets the cluster answer others between members that take long', async () => {
  const order: string[] = [];
  const slow = () => {
    const end = performance.now() + 20;
    while (performance.now() < end);
    order.push('member');
  };
  const call = { jsonrpc: '2.0', id: 1, method: 'slow' };
  setImmediate(() => order.push('another request'));
  await answerCalls(new Map([['slow', slow]]), [call, call], (error) => {
    throw error;
  });
  assert.deepEqual(order, ['member', 'another request', 'member']);
});
