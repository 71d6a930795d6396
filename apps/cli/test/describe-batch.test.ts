import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { it } from 'node:test';
import type { Batch } from '@flywheel/api';
import { describeBatch } from '../src/commands/batch/describe-batch.ts';

it('a batch that was cancelled before its setup has its reason once', () => {
  const failedTxMsg = 'The batch was cancelled.';
  const none = { total: 1, totalSuccessful: 0, successfulExecutions: [], failedTxMsg };
  const batch = { id: 'id', status: 'FAILED', initResult: none, executeResult: none } as unknown as Batch;
  const lines = describeBatch(batch, new PassThrough()).split('\n');
  assert.equal(lines.filter((line) => line.includes(failedTxMsg)).length, 1);
});
