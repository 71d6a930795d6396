import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { createSchemaPool, type SchemaSender } from '../../src/payload-schemas/pool.ts';
import type { SchemaOutcome, SchemaThread } from '../../src/payload-schemas/thread.ts';

const log = pino({ level: 'silent' });
const CHECKED: SchemaOutcome = { status: 'checked', issue: null, cpuMs: 1 };
const EXHAUSTED: SchemaOutcome = { status: 'exhausted', position: null };

describe('the pool of schema threads', () => {
  it('takes turns among senders, and runs one job of a sender at a time', async () => {
    const { pool, jobs, end } = openPool();
    const outcomes = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((job) => run(pool, project(job[0]), job));
    assert.deepEqual(await jobs(2), ['a1', 'b1']);
    await end('a1');
    assert.deepEqual(await jobs(2), ['b1', 'c1'], 'a waits until the others had a turn');
    await end('b1');
    assert.deepEqual(await jobs(2), ['c1', 'a2']);
    await end('c1');
    assert.deepEqual(await jobs(2), ['a2', 'b2']);
    await end('a2');
    await end('b2');
    await end('a3');
    assert.deepEqual(
      await Promise.all(outcomes),
      Array.from({ length: 6 }, () => CHECKED),
    );
  });

  it('keeps a thread for projects, however many wallets send schemas', async () => {
    const { pool, jobs, end } = openPool();
    for (const name of ['w1', 'w2', 'w3']) void run(pool, wallet(name), name);
    assert.deepEqual(await jobs(1), ['w1']);
    void run(pool, project('p'), 'p');
    assert.deepEqual(await jobs(2), ['w1', 'p']);
    await end('p');
    assert.deepEqual(await jobs(1), ['w1']);
    await end('w1');
    assert.deepEqual(await jobs(1), ['w2']);
  });

  it('keeps a thread for admitted projects, however many other projects send schemas', async () => {
    const { pool, jobs, end } = openPool();
    void run(pool, wallet('w'), 'w');
    for (const name of ['p1', 'p2']) void run(pool, project(name), name);
    for (let i = 0; i < 500; i++) void run(pool, project(`s${i}`), `s${i}`);
    assert.deepEqual(await jobs(2), ['w', 'p1']);
    for (const name of ['a1', 'a2']) void run(pool, admitted(name), name);
    assert.deepEqual(await jobs(3), ['w', 'p1', 'a1']);
    await end('a1');
    assert.deepEqual(await jobs(3), ['w', 'p1', 'a2']);
  });

  it('replaces a thread that was killed, and has its sender wait after the third', async () => {
    const { pool, jobs, end, clock, threads } = openPool();
    for (const job of ['k1', 'k2', 'k3']) {
      const outcome = run(pool, project('k'), job);
      await jobs(1);
      await end(job, EXHAUSTED);
      assert.deepEqual(await outcome, EXHAUSTED);
    }
    assert.equal(threads(), 4, 'one at first, and one for each that was killed');
    assert.deepEqual(await run(pool, project('k'), 'k4'), { status: 'barred', exhaustions: 3, retryAfterSeconds: 60 });
    const other = run(pool, project('o'), 'o1');
    await jobs(1);
    await end('o1');
    assert.deepEqual(await other, CHECKED, 'another sender does not wait');
    clock.forward(60_000);
    const later = run(pool, project('k'), 'k5');
    await jobs(1);
    await end('k5');
    assert.deepEqual(await later, CHECKED);
  });

  it('runs no job of a sender that is barred, also if it was sent before', async () => {
    const { pool, jobs, end, threads } = openPool();
    const outcomes = ['k1', 'k2', 'k3', 'k4', 'k5'].map((job) => run(pool, project('k'), job));
    for (const job of ['k1', 'k2', 'k3']) {
      await jobs(1);
      await end(job, EXHAUSTED);
    }
    await jobs(0);
    const barred = { status: 'barred', exhaustions: 3, retryAfterSeconds: 60 };
    assert.deepEqual(await Promise.all(outcomes), [EXHAUSTED, EXHAUSTED, EXHAUSTED, barred, barred]);
    assert.equal(threads(), 4);
  });

  it('bounds the jobs that wait, of one sender and of all wallets', async () => {
    const { pool, jobs } = openPool();
    void run(pool, project('a'), 'first');
    await jobs(1);
    for (let i = 0; i < 100; i++) void run(pool, project('a'), `a${i}`);
    assert.deepEqual(await run(pool, project('a'), 'too many'), { status: 'starved' });
    void run(pool, wallet('w'), 'w');
    await jobs(2);
    for (let i = 0; i < 500; i++) void run(pool, wallet(`w${i}`), `w${i}`);
    assert.deepEqual(await run(pool, wallet('v'), 'too many'), { status: 'starved' });
    const last = run(pool, project('b'), 'b');
    pool.close();
    assert.deepEqual(await last, { status: 'starved' }, 'and closing answers those that wait');
  });
});

/** Opens a pool whose jobs, named by their schema, end when the test says so. */
function openPool() {
  const running = new Map<string, (outcome: SchemaOutcome) => void>();
  let time = 0;
  let threads = 0;
  const start = (): SchemaThread => {
    threads += 1;
    let isAlive = true;
    return {
      isAlive: () => isAlive,
      kill: () => undefined,
      run: ({ schema }) =>
        new Promise((resolve) =>
          running.set(schema, (outcome) => {
            isAlive = outcome.status === 'checked';
            resolve(outcome);
          }),
        ),
    };
  };
  const pool = createSchemaPool({ log, clock: { now: () => new Date(time) }, start });
  return {
    pool,
    threads: () => threads,
    clock: {
      forward: (ms: number) => {
        time += ms;
      },
    },
    /** Asserts that exactly `count` jobs run. @returns their ids. */
    jobs: async (count: number) => {
      await settled();
      assert.equal(running.size, count, [...running.keys()].join());
      return [...running.keys()];
    },
    end: async (job: string, outcome: SchemaOutcome = CHECKED) => {
      running.get(job)?.(outcome);
      assert.ok(running.delete(job), `${job} does not run`);
      await settled();
    },
  };
}

function run(pool: ReturnType<typeof createSchemaPool>, sender: SchemaSender, job: string) {
  return pool.run(sender, { schema: job, isNew: false, payloads: [] });
}

function project(id = ''): SchemaSender {
  return { id, kind: 'project' };
}

function admitted(id: string): SchemaSender {
  return { id, kind: 'admitted' };
}

function wallet(id: string): SchemaSender {
  return { id, kind: 'wallet' };
}

/** Lets every promise that can be resolved go on. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
