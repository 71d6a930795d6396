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

  it('firstParseIssue begins a place with the path of the value, if it is a part of a larger one', () => {
    const placeOf = (path: PropertyKey[]) =>
      firstParseIssue({ issues: [{ path, message: 'is negative' }] }, 'params', ['params', 1]).place;
    assert.deepEqual([placeOf([]), placeOf(['limit'])], ['params[1]', 'params[1].limit']);
  });
});
