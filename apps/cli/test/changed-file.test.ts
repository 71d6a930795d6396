import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Batch } from '@flywheel/api';
import { describeChangeIssue } from '../src/run-state.ts';

describe('a file that has changed since a batch was created from it', () => {
  const issueOf = (status: Batch['status'], totalSuccessful = 0) =>
    describeChangeIssue('rewards.json', {
      id: 'b1',
      status,
      executeResult: { total: 3, totalSuccessful, totalFailed: 3 - totalSuccessful, successfulExecutions: [] },
    } as unknown as Batch); // the fields that count

  it('is sent when the batch executed everything, or failed before its first pipeline', () => {
    assert.equal(issueOf('EXECUTED', 3), null);
    assert.equal(issueOf('FAILED'), null);
  });

  it('is rejected while the batch is open', () => {
    for (const status of ['AVAILABLE_TO_QUEUE', 'FINALIZED'] as const) {
      assert.match(issueOf(status) ?? '', new RegExp(`that batch is ${status}.*flywheel cancel b1`));
    }
  });

  it('is rejected with a hint at --rest when the batch executed some pipelines before it failed', () => {
    assert.match(issueOf('FAILED', 2) ?? '', /executed 2 pipelines before it failed.*add --rest/);
  });
});
