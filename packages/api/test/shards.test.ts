import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askEveryShard, readShard, SHARD_HEADER } from '../src/index.ts';

describe('askEveryShard', () => {
  it('asks a service without shards once', async () => {
    const asked: object[] = [];
    const { answers, failures } = await askEveryShard(async (headers) => {
      asked.push(headers);
      return { headers: {} };
    });
    assert.deepEqual([asked, answers.map(({ shard }) => shard), failures], [[{}], [1], []]);
  });

  it('asks each other shard by its number, and names those that fail', async () => {
    const error = new Error('The session has expired.');
    const { answers, failures } = await askEveryShard(async ({ [SHARD_HEADER]: named = '2' }) => {
      if (named === '3') throw error;
      return { named, headers: { [SHARD_HEADER]: `${named} of 3` } };
    });
    assert.deepEqual(
      answers.map(({ shard, answer }) => [shard, answer.named]),
      [
        [1, '1'],
        [2, '2'],
      ],
    );
    assert.deepEqual(failures, [{ shard: 3, error }]);
  });

  it('throws the error of the shard that it asks first', async () => {
    const error = new Error('Sign in.');
    await assert.rejects(
      askEveryShard(() => Promise.reject(error)),
      error,
    );
  });

  it('takes an answer with another header for one of a service without shards', () => {
    for (const value of ['', '2', '2 of', '1 of 1000', 'x of y']) {
      assert.deepEqual(readShard({ headers: { [SHARD_HEADER]: value } }), { shard: 1, count: 1 });
    }
  });
});
