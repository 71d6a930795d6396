import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { firstParseIssue, formatPath } from '../src/index.ts';

describe('places of issues', () => {
  it('formatPath writes indices in brackets and names behind dots', () => {
    assert.equal(formatPath(['pipelines', 2, 'actions', 0, 'amount'], 'body'), 'pipelines[2].actions[0].amount');
    assert.equal(formatPath([0, 'amount'], 'body'), '[0].amount');
    assert.equal(formatPath([], 'body'), 'body');
  });

  it('firstParseIssue names the value itself when the path is empty', () => {
    const issues = [
      { path: [], message: 'is missing' },
      { path: ['amount'], message: 'is negative' },
    ];
    assert.deepEqual(firstParseIssue({ issues }, 'the file'), { place: 'the file', message: 'is missing' });
    assert.deepEqual(firstParseIssue({ issues: issues.slice(1) }, 'the file'), {
      place: 'amount',
      message: 'is negative',
    });
  });
});
