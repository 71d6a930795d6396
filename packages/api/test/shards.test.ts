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

  it('learns the number of shards from an error of the one that it asks first, and asks the others', async () => {
    const error = Object.assign(new Error('It does not answer.'), { shard: '1 of 3' });
    const { answers, failures } = await askEveryShard(async ({ [SHARD_HEADER]: named }) => {
      if (named === undefined) throw error;
      return { headers: {} };
    });
    assert.deepEqual(
      answers.map(({ shard }) => shard),
      [2, 3],
    );
    assert.deepEqual(failures, [{ shard: 1, error }]);
  });

  it('asks each shard if none was responsible for the error', async () => {
    const error = Object.assign(new Error('A part does not answer.'), { shard: '0 of 2' });
    const { answers, failures } = await askEveryShard(async ({ [SHARD_HEADER]: named }) => {
      if (named !== '2') throw error;
      return { headers: {} };
    });
    assert.deepEqual([answers.map(({ shard }) => shard), failures], [[2], [{ shard: 1, error }]]);
  });

  it('throws the first error if no shard answers', async () => {
    for (const error of [new Error('Sign in.'), Object.assign(new Error('Sign in.'), { shard: '2 of 2' })]) {
      const asked: object[] = [];
      const ask = async (headers: object) => {
        asked.push(headers);
        throw asked.length === 1 ? error : new Error('Another one.');
      };
      await assert.rejects(askEveryShard(ask), error);
      assert.equal(asked.length, 'shard' in error ? 2 : 1);
    }
  });

  it('takes an answer with another header for one of a service without shards', () => {
    for (const value of ['', '2', '2 of', '1 of 1000', 'x of y']) {
      assert.deepEqual(readShard({ headers: { [SHARD_HEADER]: value } }), { shard: 1, count: 1 });
    }
  });
});
