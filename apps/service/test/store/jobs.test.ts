import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { waitUntil } from '@flywheel/testing/batches';
import { openTestDatabase, quietLog, type TestDatabase } from '@flywheel/testing/postgres';
import { randomAddress } from '@flywheel/testing/records';
import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import { type Job, type JobHandler, type Jobs, startJobs } from '../../src/store/jobs/jobs.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

test('a handler starts when the commit is notified, not at the next poll a second later', async () => {
  const begun = new Map<string, number>();
  const { enqueue } = await openQueue(async (job) => {
    if ('batchId' in job) begun.set(job.batchId, performance.now());
  });
  const latencies: number[] = [];
  // With polls alone, each would start about a second after the one before it. A busy machine may delay some, but not all.
  while (latencies.length < 20) {
    const job = newJob(randomAddress());
    await enqueue(job);
    const committed = performance.now();
    const startedAt = await until(() => begun.get(job.batchId));
    latencies.push(startedAt - committed);
    if (startedAt - committed < 500) return;
  }
  assert.fail(`${latencies.join(', ')} ms`);
});

describe('the job queue', { concurrency: true }, () => {
  test('runs a job when its transaction commits, and never after a rollback', async () => {
    const { db, enqueue, ran } = await openQueue();
    const multisig = randomAddress();
    const [dropped, kept] = [newJob(multisig), newJob(multisig)];
    const witness = newJob(randomAddress());
    const failing = db.transaction().execute(async (trx) => {
      await enqueue(dropped, {}, trx);
      throw new Error('later failure');
    });
    await assert.rejects(failing, /later failure/);
    await db.transaction().execute(async (trx) => {
      await enqueue(kept, {}, trx);
      // A job that commits later has run before it.
      await enqueue(witness);
      await until(() => ran.length > 0);
      assert.deepEqual(ran, [witness]);
    });
    await until(() => ran.length > 1);
    assert.deepEqual(ran, [witness, kept]);
  });

  test('runs jobs of one multisig one at a time, in order, over two processes, and others in parallel', async () => {
    const { queue, database, enqueue } = await openQueue(null);
    const second = await openJobs(database);
    const [slow, quick] = [randomAddress(), randomAddress()];
    const running = new Set<Address>();
    const overlapping: Job[] = [];
    const ended: Job[] = [];
    const quickEnded = Promise.withResolvers<void>();
    const handler: JobHandler = async (job) => {
      if (!('multisig' in job)) return;
      if (running.has(job.multisig)) overlapping.push(job);
      running.add(job.multisig);
      // If quick jobs waited for slow ones, neither would ever end.
      await (job.multisig === slow ? quickEnded.promise : sleep(1));
      running.delete(job.multisig);
      ended.push(job);
      if (ended.length === 20) quickEnded.resolve();
    };
    const sent: Record<Address, Job[]> = { [slow]: [], [quick]: [] };
    for (let i = 0; i < 20; i++) {
      for (const multisig of [slow, quick]) {
        const job = newJob(multisig);
        sent[multisig]?.push(job);
        await enqueue(job);
      }
    }
    await Promise.all([queue.work(handler, { maxBatches: 16 }), second.work(handler, { maxBatches: 16 })]);
    await until(() => ended.length === 40);
    assert.deepEqual(overlapping, []);
    for (const multisig of [slow, quick]) {
      assert.deepEqual(
        ended.filter((job) => 'multisig' in job && job.multisig === multisig),
        sent[multisig],
      );
    }
  });

  test('runs jobs enqueued later before a postponed job', async () => {
    const { db, enqueue, ran } = await openQueue();
    const multisig = randomAddress();
    const [deferred, next] = [newJob(multisig), newJob(multisig)];
    await enqueue(deferred, { startAfter: new Date(Date.now() + 3_600_000) });
    await enqueue(next);
    await until(() => ran.length === 1);
    assert.deepEqual(ran, [next]);
    await sql`update jobs.job set start_after = now() where data->>'multisig' = ${multisig} and state = 'created'`.execute(
      db,
    );
    await until(() => ran.length === 2);
    assert.deepEqual(ran, [next, deferred]);
  });

  test('retries a failed job first; its multisig waits meanwhile, others do not', async () => {
    const attempts: Job[] = [];
    const { enqueue } = await openQueue(async (job) => {
      attempts.push(job);
      if (attempts.filter((attempt) => isSame(attempt, job)).length === 1 && isSame(job, failing)) {
        throw new Error('not this time');
      }
    });
    const multisig = randomAddress();
    const [failing, waiting, other] = [newJob(multisig), newJob(multisig), newJob(randomAddress())];
    await enqueue(failing);
    await until(() => attempts.length === 1);
    await enqueue(waiting);
    await enqueue(other);
    await until(() => attempts.length === 4);
    assert.deepEqual(attempts, [failing, other, failing, waiting]);
  });

  test('keeps one refill waiting while one runs; they never overlap, and no request is lost', async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let [begun, ended, overlapping] = [0, 0, 0];
    const handler: JobHandler = async () => {
      if (begun !== ended) overlapping += 1;
      const gate = gates[begun];
      begun += 1;
      await gate?.promise;
      ended += 1;
    };
    const { enqueue, database } = await openQueue(handler);
    const second = await openJobs(database);
    await second.work(handler, { maxBatches: 16 });
    const askOften = () => Promise.all(Array.from({ length: 5 }, () => enqueue({ type: 'refill-nonces' })));
    await askOften();
    await until(() => begun === 1);
    await askOften();
    gates[0]?.resolve();
    await until(() => begun === 2);
    await askOften();
    gates[1]?.resolve();
    await until(() => ended === 3);
    await enqueue({ type: 'refill-nonces' });
    await until(() => ended === 4);
    assert.equal(overlapping, 0);
  });

  test('gives a worker that starts during another’s refill the next one within seconds', async () => {
    const gate = Promise.withResolvers<void>();
    const { queue, database, enqueue } = await openQueue(() => gate.promise);
    await enqueue({ type: 'refill-nonces' });
    // From now on, what a worker reads about the queue says that a refill runs.
    await untilAsync(async () => {
      const { rows } = await sql`select from jobs.queue where cardinality(singletons_active) > 0`.execute(database.db);
      return rows.length > 0;
    });
    const second = await openJobs(database);
    const ran: Job[] = [];
    await second.work(
      async (job) => {
        ran.push(job);
      },
      { maxBatches: 16 },
    );
    gate.resolve();
    await queue.stop();
    await enqueue({ type: 'refill-nonces' });
    await until(() => ran.length === 1);
  });

  test('polls nothing if it only sends: its job waits for a worker', async () => {
    const { queue, database, enqueue } = await openQueue(null);
    const job = newJob(randomAddress());
    await enqueue(job);
    await queue.stop();
    const ran: Job[] = [];
    const worker = await openJobs(database);
    await worker.work(
      async (taken) => {
        ran.push(taken);
      },
      { maxBatches: 16 },
    );
    await until(() => ran.length === 1);
    assert.deepEqual(ran, [job]);
  });

  test('waits for the running job when it stops', async () => {
    const gate = Promise.withResolvers<void>();
    const ended: Job[] = [];
    const { queue, enqueue, ran } = await openQueue(async (job) => {
      ran.push(job);
      await gate.promise;
      ended.push(job);
    });
    await enqueue(newJob(randomAddress()));
    await until(() => ran.length === 1);
    const stopped = queue.stop({ timeoutSeconds: 10 });
    gate.resolve();
    await stopped;
    assert.equal(ended.length, 1);
  });

  test('does not report a job as failed that its stop interrupts', async () => {
    const { database } = await openQueue(null);
    const lines: string[] = [];
    const write = (_: object, message: string) => void lines.push(message);
    const [begun, stopping] = [Promise.withResolvers<void>(), new AbortController()];
    const log = { info: write, warn: write, error: write };
    const queue = await startJobs({ ...database, log, metrics: createMetrics() });
    await queue.work(
      async () => {
        begun.resolve();
        await sleep(60_000, undefined, { signal: stopping.signal });
      },
      { maxBatches: 16 },
    );
    await queue.enqueue(database.db, { type: 'refill-nonces' });
    await begun.promise;
    stopping.abort();
    await queue.stop();
    assert.deepEqual(lines, ['job interrupted by a stop; the next worker continues it']);
  });

  test('releases a job that takes too long when it stops, and another worker runs it', async () => {
    const signals: AbortSignal[] = [];
    const { queue, database, enqueue } = await openQueue(async (_job, signal) => {
      signals.push(signal);
      await once(signal, 'abort');
    });
    const second = await openJobs(database);
    const job = newJob(randomAddress());
    await enqueue(job);
    await until(() => signals.length === 1);
    const ran: Job[] = [];
    await second.work(
      async (taken) => {
        ran.push(taken);
      },
      { maxBatches: 16 },
    );
    await queue.stop({ timeoutSeconds: 0.1 });
    assert.equal(signals[0]?.aborted, true);
    await until(() => ran.length === 1);
    assert.deepEqual(ran, [job]);
  });

  test('gives a killed worker’s job to another one, and its multisig waits for that', async () => {
    const { database, enqueue, queue } = await openQueue(null);
    const multisig = randomAddress();
    const [held, waiting] = [newJob(multisig), newJob(multisig)];
    await enqueue(held);
    const worker = await startWorkerProcess(database, held);
    const ran: Job[] = [];
    await queue.work(
      async (job) => {
        ran.push(job);
      },
      { maxBatches: 16 },
    );
    // A worker that starts beside a living one leaves its job alone.
    assert.deepEqual(await readStates(database), [{ batchId: held.batchId, state: 'active' }]);
    await enqueue(waiting);
    worker.kill('SIGKILL');
    await once(worker, 'exit');
    await until(() => ran.length === 2);
    assert.deepEqual(ran, [held, waiting]);
  });

  test('gives the jobs of the only worker, if it was killed, to the next one at once', async () => {
    const { database, enqueue, queue } = await openQueue(null);
    const multisig = randomAddress();
    const [held, waiting] = [newJob(multisig), newJob(multisig)];
    await enqueue(held);
    await enqueue(waiting);
    const worker = await startWorkerProcess(database, held);
    worker.kill('SIGKILL');
    await once(worker, 'exit');
    await untilAsync(async () => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and application_name = 'flywheel-worker'
      `.execute(database.db);
      return rows.length === 0;
    });
    // The heartbeat does not expire in this test.
    await sql`update jobs.job set heartbeat_on = now() + interval '1 hour' where state = 'active'`.execute(database.db);
    const ran: Job[] = [];
    await queue.work(
      async (job) => {
        ran.push(job);
      },
      { maxBatches: 16 },
    );
    await until(() => ran.length === 2);
    assert.deepEqual(ran, [held, waiting]);
  });

  test('runs a single job that was killed while another of its kind waits to be retried', async () => {
    const { database, enqueue, queue } = await openQueue(null);
    const job: Job = { type: 'review-changes' };
    for (const state of ['active', 'retry']) {
      await enqueue(job);
      await sql`update jobs.job set state = ${state} where state = 'created'`.execute(database.db);
    }
    const ran: Job[] = [];
    await queue.work(
      async (taken) => {
        ran.push(taken);
      },
      { maxBatches: 16 },
    );
    await until(() => ran.length === 1);
    assert.deepEqual(ran, [job]);
  });

  test('leaves no failed single job behind of two that were killed, after one of them was run again', async () => {
    const { database, enqueue, queue } = await openQueue(null);
    const job: Job = { type: 'review-changes' };
    const states = async () => {
      const { rows } = await sql<{ state: string }>`select state from jobs.job`.execute(database.db);
      return rows.map(({ state }) => state);
    };
    await enqueue(job);
    await sql`update jobs.job set state = 'failed'`.execute(database.db);
    await enqueue(job);
    await queue.work(async () => undefined, { maxBatches: 16 });
    await untilAsync(async () => (await states()).join() === 'completed');
  });
});

interface Queue {
  readonly database: TestDatabase;
  readonly db: TestDatabase['db'];
  readonly queue: Jobs;
  /** Jobs that ran, unless the test brings its own handler. */
  readonly ran: Job[];
  enqueue(job: Job, options?: { readonly startAfter?: Date }, db?: TestDatabase['db']): Promise<void>;
}

/** Opens a queue in a database of its own, with a worker unless the handler is null. */
async function openQueue(handler?: JobHandler | null): Promise<Queue> {
  const database = await openTestDatabase();
  const queue = await openJobs(database);
  const ran: Job[] = [];
  const record: JobHandler = async (job) => {
    ran.push(job);
  };
  if (handler !== null) await queue.work(handler ?? record, { maxBatches: 16 });
  const { db } = database;
  return { database, db, queue, ran, enqueue: (job, options, trx = db) => queue.enqueue(trx, job, options) };
}

/** Starts a worker in a process of its own, and waits until it has taken the job, which it never finishes. */
async function startWorkerProcess({ poolConfig }: TestDatabase, job: Job): Promise<ChildProcess> {
  const file = fileURLToPath(new URL('jobs-worker.ts', import.meta.url));
  const worker = spawn(process.execPath, [file, JSON.stringify(poolConfig)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface(worker.stdout), 'line');
  assert.deepEqual(JSON.parse(line), job);
  return worker;
}

async function readStates({ db }: TestDatabase): Promise<readonly object[]> {
  const { rows } = await sql<object>`
    select data->>'batchId' as "batchId", state::text as state from jobs.job
  `.execute(db);
  return rows;
}

async function openJobs({ poolConfig }: TestDatabase): Promise<Jobs> {
  const jobs = await startJobs({ poolConfig, log: quietLog, metrics: createMetrics() });
  after(() => jobs.stop({ timeoutSeconds: 0 }));
  return jobs;
}

function newJob(multisig: Address): Extract<Job, { batchId: string }> {
  return { type: 'setup', batchId: randomUUID(), multisig };
}

function isSame(one: Job, other: Job): boolean {
  return 'batchId' in one && 'batchId' in other && one.batchId === other.batchId;
}

/** Waits until `read` returns something. @returns what it read. */
async function until<T>(read: () => T | undefined | false): Promise<T> {
  const found = await waitUntil('a job', read, (seen) => seen !== undefined && seen !== false, { intervalMs: 2 });
  assert.ok(found !== undefined && found !== false);
  return found;
}

async function untilAsync(read: () => Promise<boolean>): Promise<void> {
  await waitUntil('a job', read, (isSo) => isSo);
}
