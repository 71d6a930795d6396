import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { it } from 'node:test';
import type { Batch } from '@flywheel/api';
import { describeBatch } from '../src/commands/batch/describe-batch.ts';

it('a batch that was cancelled before its setup has its reason once', () => {
  const failedTxMsg = 'The batch was cancelled.';
  const none = { total: 1, totalSuccessful: 0, successfulExecutions: [], failedTxMsg };
  const place = { mintAddress: 'mint', multisig: 'multisig', batchIndex: '1', vaultAddress: 'vault' };
  const ended = { status: 'FAILED', dateCreated: '2026-11-27T00:00:00.000Z', initResult: none, executeResult: none };
  const batch = { id: 'id', ...place, ...ended } as unknown as Batch; // the fields that are described
  const lines = describeBatch(batch, new PassThrough()).split('\n');
  assert.equal(lines.filter((line) => line.includes(failedTxMsg)).length, 1);
});
