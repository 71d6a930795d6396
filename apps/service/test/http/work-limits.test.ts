import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isApiError } from '@flywheel/api';
import { createStreamLimit } from '../../src/http/operations/events.ts';
import { createWorkLimits, type PipelineReader } from '../../src/http/operations/work-limits.ts';
import type { RateLimits } from '../../src/model/rate-limit.ts';

describe('previews and proof checks', () => {
  it('of a project are bounded at once, whatever another project does', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const work = createWorkLimits(rateLimits(1_000), CLOCK, WAITING);
    const running = Array.from({ length: 8 }, () => work.run('previews', 'p', () => promise));
    const ninth = work.run('previews', 'p', async () => assert.fail('it was begun'));
    await assert.rejects(ninth, (error) => {
      assert.ok(isApiError(error, 'ERR_TOO_MANY_AT_ONCE') && error.status === 429, String(error));
      return error.context.retryAfterSeconds === 1;
    });
    assert.equal(await work.run('previews', 'q', async () => 'of another'), 'of another');
    assert.equal(await work.run('proof checks', 'p', async () => 'other work'), 'other work');
    resolve('done');
    assert.deepEqual(await Promise.all(running), Array<string>(8).fill('done'));
    await assert.rejects(
      work.run('previews', 'p', () => Promise.reject(new Error('broken'))),
      /broken/,
    );
    assert.equal(await work.run('previews', 'p', async () => 'again'), 'again');
  });

  it('of a project are bounded by the minute, as are its event streams', async () => {
    const work = createWorkLimits(rateLimits(1), CLOCK, WAITING);
    const limited = (error: unknown) => isApiError(error, 'ERR_RATE_LIMITED') && error.context.retryAfterSeconds === 41;
    await work.run('previews', 'p', async () => undefined);
    await assert.rejects(
      work.run('previews', 'p', async () => assert.fail('it was begun')),
      limited,
    );
    const open = (holder: string, projectId: string) => work.countStream({ holder, projectId });
    await open('k', 'p');
    await assert.rejects(open('l', 'p'), limited);
    await open('m', 'q');
  });
});

describe('checks before execution', () => {
  it('of a project wait for a place in their order, as many as it may have open batches, whatever another project does', async () => {
    const work = createWorkLimits(rateLimits(0), CLOCK, WAITING);
    const check = <Result>(holder: string, start: () => Promise<Result>) =>
      work.runInTurn('checks before execution', holder, start);
    const { promise, resolve } = Promise.withResolvers<void>();
    const begun: number[] = [];
    const running = Array.from({ length: 8 + WAITING.maxWaiting }, (_, i) =>
      check('p', () => {
        begun.push(i);
        return i === 0 ? Promise.reject(new Error('broken')) : promise;
      }),
    );
    await assert.rejects(running[0] ?? promise, /broken/);
    assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6, 7, 8], 'a check that failed leaves its place to the next');
    const another = check('p', () => promise);
    await assert.rejects(
      check('p', async () => assert.fail('it was begun')),
      (error) => isApiError(error, 'ERR_TOO_MANY_AT_ONCE') && error.context.retryAfterSeconds === 1,
    );
    assert.equal(await check('q', async () => 'of another'), 'of another');
    resolve();
    await Promise.all([...running.slice(1), another]);
    assert.deepEqual(begun, [...running.keys()]);
    assert.equal(await check('p', async () => 'again'), 'again');
  });
});

describe('event streams', () => {
  it('of one key leave half of what its project may open, also if they are opened at once', async () => {
    const work = createWorkLimits(rateLimits(8), CLOCK, WAITING);
    const open = (holder: string) => work.countStream({ holder, projectId: 'p' });
    const opened = await Promise.allSettled(Array.from({ length: 9 }, () => open('thief')));
    assert.equal(opened.filter(({ status }) => status === 'fulfilled').length, 2);
    for (const each of opened) {
      if (each.status === 'rejected') assert.ok(isApiError(each.reason, 'ERR_RATE_LIMITED'), String(each.reason));
    }
    for (const holder of ['owner', 'owner']) await open(holder);
  });
});

describe('the reading of pipelines', () => {
  it('is bounded by their number, for a key, for a project with many keys, and for a wallet', async () => {
    let time = 0;
    const work = createWorkLimits(rateLimits(1), { now: () => new Date(time) }, WAITING);
    const read = (by: PipelineReader, count = 1_000) => work.readPipelines(by, count, async () => count);
    const key = (keyId: string) => ({ keyId, projectId: 'p' });
    const limited = (error: unknown) => {
      assert.ok(isApiError(error, 'ERR_RATE_LIMITED'), String(error));
      assert.match(error.message, /^The limit of (2500|5000) pipelines in 10 s is reached\. Try again in 3 s\.$/);
      return true;
    };
    for (let i = 0; i < 3; i++) assert.equal(await read(key('k')), 1_000);
    await assert.rejects(read(key('k')), limited);
    for (let i = 0; i < 2; i++) await read(key('l'), 1_500);
    await assert.rejects(read(key('m')), limited, 'the project');
    for (let i = 0; i < 3; i++) await read({ wallet: 'w' });
    await assert.rejects(read({ wallet: 'w' }), limited);
    time += 2_001;
    await read(key('m'), 1);
    time += 1_000;
    await read(key('k'), 1);
  });

  it('is bounded also when it is asked for at once, and small batches leave room for others', async () => {
    const work = createWorkLimits(rateLimits(1), CLOCK, WAITING);
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const readAtOnce = (keyIds: readonly string[], count: number) =>
      Promise.allSettled(keyIds.map((keyId) => work.readPipelines({ keyId, projectId: 'p' }, count, () => gate)));
    const ofOneKey = readAtOnce(Array(10).fill('k'), 1_000);
    const ofManyKeys = readAtOnce(['l', 'm', 'n', 'o'], 1_000);
    open();
    for (const [reads, begun] of [
      [await ofOneKey, 3],
      [await ofManyKeys, 2],
    ] as const) {
      const refused = reads.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
      assert.equal(reads.length - refused.length, begun);
      for (const reason of refused) assert.ok(isApiError(reason, 'ERR_RATE_LIMITED'), String(reason));
    }
    const ofSmallBatches = Array.from({ length: 10 }, () => work.readPipelines({ wallet: 'w' }, 5, () => gate));
    await Promise.all(ofSmallBatches);
  });
});

describe('the compilation of pipelines', () => {
  it('is bounded by their number, so that twenty keys of a stranger leave the process to others', () => {
    let time = 0;
    const work = createWorkLimits(rateLimits(1), { now: () => new Date(time) }, WAITING);
    const compile = (id: string, keyId: string | null, { isAdmitted = true, count = 1_000 } = {}) =>
      work.countCompiled({ project: { id, isAdmitted }, keyId }, { pipelines: Array(count) });
    const compileAll = (id: string, isAdmitted: boolean) => {
      for (const keyId of ['1', '2']) for (let i = 0; i < 10; i++) compile(id, `${id} ${keyId}`, { isAdmitted });
    };
    const limited = (limit: number) => (error: unknown) =>
      isApiError(error, 'ERR_RATE_LIMITED') && error.message.startsWith(`The limit of ${limit} pipelines in 60 s is`);
    compileAll('p', true);
    assert.throws(() => compile('p', 'p 1'), limited(10_000), 'one key');
    assert.throws(() => compile('p', 'p 3', { count: 1 }), limited(20_000), 'the project with another key');
    assert.throws(() => compile('p', null, { count: 1 }), limited(20_000), 'its console');
    for (const stranger of ['q', 'r']) compileAll(stranger, false);
    assert.throws(() => compile('s', 's 1', { isAdmitted: false }), limited(40_000), 'a third stranger');
    compile('t', 't 1');
    time += 60_000;
    for (const id of ['p', 'q']) compileAll(id, id === 'p');
    assert.throws(() => compile('p', null, { count: 1 }), limited(20_000));
    for (const body of [null, 'text', {}, { pipelines: 3 }, { pipelines: [] }, { pipelines: Array(999_999) }]) {
      work.countCompiled({ project: { id: 'u', isAdmitted: true }, keyId: 'u 1' }, body);
    }
    compile('u', 'u 1', { count: 1 });
    // Both the key and the project have to wait.
    for (let i = 0; i < 10; i++) compile('v', 'v 1');
    for (let i = 0; i < 10; i++) compile('v', 'v 2', { count: 950 });
    compile('v', 'v 3');
    assert.throws(
      () => compile('v', 'v 1'),
      (error) => limited(20_000)(error) && retryAfterOf(error) === 2,
      'the longer wait',
    );
  });

  it('counts a pipeline of more actions than one transaction can run as several', () => {
    const work = createWorkLimits(rateLimits(1), CLOCK, WAITING);
    const compile = (keyId: string, pipelines: unknown) =>
      work.countCompiled({ project: { id: keyId, isAdmitted: true }, keyId }, { pipelines });
    const isLimited = (error: unknown) => isApiError(error, 'ERR_RATE_LIMITED');
    const [whole, large] = [{ actions: Array(64) }, { actions: Array(23_000) }];
    for (let i = 0; i < 10; i++) compile('whole', Array(1_000).fill(whole));
    assert.throws(() => compile('whole', [whole]), isLimited);
    // Each counts as 360.
    for (let i = 0; i < 28; i++) compile('large', [large]);
    assert.throws(() => compile('large', [whole]), isLimited);
    for (let i = 0; i < 10; i++) compile('many large', Array(900).fill(large));
    assert.throws(() => compile('many large', [whole]), isLimited);
    for (let i = 0; i < 2_500; i++) compile('invalid', [null, 'text', { actions: 3 }, { actions: {} }]);
    assert.throws(() => compile('invalid', null), isLimited);
  });
});

describe('open event streams', () => {
  it('are bounded for a key or wallet, and for a project with many keys', () => {
    const streams = createStreamLimit();
    const closing = new AbortController();
    const open = (holder: string, projectId: string, signal = closing.signal) =>
      streams.take({ holder, projectId }, signal);
    const openMany = (count: number, holder: string) => {
      for (let i = 0; i < count; i += 1) open(holder, 'p');
    };
    const isFull = (error: unknown) => isApiError(error, 'ERR_TOO_MANY_STREAMS') && error.context.retryAfterSeconds > 0;
    const first = new AbortController();
    open('key 3', 'p', first.signal);
    openMany(20, 'key 1');
    assert.throws(() => open('key 1', 'p'), isFull);
    openMany(20, 'key 2');
    openMany(19, 'key 3');
    assert.throws(() => open('key 4', 'p'), isFull);
    open('key 4', 'q');
    first.abort();
    open('key 4', 'p');
    assert.throws(() => open('key 4', 'p'), isFull);
  });
});

function retryAfterOf(error: unknown): number | null {
  return isApiError(error, 'ERR_RATE_LIMITED') ? error.context.retryAfterSeconds : null;
}

const CLOCK = { now: () => new Date(0) };
const WAITING = { maxWaiting: 60 };

function rateLimits(requests: number): RateLimits {
  const limit = { requests, seconds: 60 };
  const counts = new Map<string, number>();
  return {
    // Only this limit is asked.
    limits: { project: limit } as RateLimits['limits'],
    consume: async (name, key) => {
      assert.equal(name, 'project');
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return { allowed: count <= requests, remaining: requests - count, resetSeconds: 41 };
    },
  };
}
