import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isApiError } from '@flywheel/api';
import { waitUntil } from '@flywheel/testing/batches';
import { openTestDatabase, quietLog, type TestDatabase } from '@flywheel/testing/postgres';
import { newProject } from '@flywheel/testing/records';
import { sql } from 'kysely';
import { createNonceQueue, type NonceQueue } from '../../src/batches/nonce-queue.ts';
import type { Project } from '../../src/model/project.ts';
import { isDatabaseUnavailable } from '../../src/store/database-unavailable.ts';

let database: TestDatabase;

before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

test('inits that wait take turns by project, those of a project in their order', async () => {
  const { queue, pool } = openQueue();
  const [busy, other] = [newTenant(), newTenant()];
  const order: string[] = [];
  const leaseAs = async (name: string, project: Project) => {
    await lease(queue, project, async () => {
      if (pool.free === 0) return null;
      pool.free -= 1;
      return 'leased';
    });
    order.push(name);
  };
  const waiting = ['busy 1', 'busy 2', 'busy 3'].map((name) => leaseAs(name, busy));
  await until(() => queue.count() === 3);
  waiting.push(leaseAs('other', other));
  await until(() => queue.count() === 4);
  waiting.push(leaseAs('another', newTenant()));
  await until(() => queue.count() === 5);
  pool.free = 5;
  await announce();
  await Promise.all(waiting);
  assert.deepEqual(order, ['busy 1', 'other', 'another', 'busy 2', 'busy 3']);
});

test('an admitted project does not wait behind the others', async () => {
  const { queue, pool } = openQueue();
  const waiting = lease(queue, newTenant(), async () => (pool.free > 0 ? 'leased' : null));
  await until(() => queue.count() === 1);
  assert.equal(await lease(queue, { ...newTenant(), isAdmitted: true }, async () => 'own share'), 'own share');
  pool.free = 1;
  await announce();
  assert.equal(await waiting, 'leased');
});

test('five inits make their attempts at a time, and an admitted project goes first', async () => {
  const { queue } = openQueue();
  const isEnough = Promise.withResolvers<string>();
  const begun: string[] = [];
  const leaseAs = (name: string, project: Project) =>
    lease(queue, project, () => {
      begun.push(name);
      return isEnough.promise;
    });
  const strangers = ['1', '2', '3', '4', '5', '6'].map((name) => leaseAs(name, newTenant()));
  await until(() => begun.length >= 5);
  const admitted = leaseAs('admitted', { ...newTenant(), isAdmitted: true });
  await sleep(50);
  assert.deepEqual(begun, ['1', '2', '3', '4', '5']);
  isEnough.resolve('leased');
  await Promise.all([...strangers, admitted]);
  assert.deepEqual(begun.slice(5), ['admitted', '6']);
});

test('an init behind attempts that do not end is answered as if the database were out of reach', async (t) => {
  const { queue } = openQueue();
  const end = Promise.withResolvers<string>();
  let begun = 0;
  const stuck = Array.from({ length: 5 }, () =>
    lease(queue, newTenant(), () => {
      begun += 1;
      return end.promise;
    }),
  );
  await until(() => begun === 5);
  t.mock.timers.enable({ apis: ['AbortSignal.timeout' as 'setTimeout'] }); // Node's types do not know it yet
  const waiting = assert.rejects(
    lease(queue, newTenant(), async () => 'leased'),
    isDatabaseUnavailable,
  );
  await sleep(1);
  t.mock.timers.tick(30_000);
  await waiting;
  end.resolve('leased');
  await Promise.all(stuck);
});

test('an admitted project can wait while strangers hold every place that they can have', async () => {
  const { queue } = openQueue({ speed: 100 });
  const strangers = Array.from({ length: 8 }, newTenant);
  const held = strangers.flatMap((stranger) =>
    Array.from({ length: 50 }, () => lease(queue, stranger, async () => null).catch((error: unknown) => error)),
  );
  // Those for whom no place is left are answered at once.
  assert.ok(isApiError(await Promise.race(held), 'ERR_NONCE_POOL_EMPTY'));
  let attempts = 0;
  const leased = lease(queue, { ...newTenant(), isAdmitted: true }, async () => {
    attempts += 1;
    return attempts > 1 ? 'leased' : null;
  });
  assert.equal(await leased, 'leased');
  await Promise.all(held);
});

test('an init waits ten seconds at most, and not at all behind 64 of its project', async () => {
  const { queue, nowMs } = openQueue({ speed: 100 });
  const project = newTenant();
  const startMs = nowMs();
  const all = Array.from({ length: 65 }, () =>
    lease(queue, project, async () => null).catch((error: unknown) => error),
  );
  const errors = await Promise.all(all);
  assert.ok(
    errors.every((error) => isApiError(error, 'ERR_NONCE_POOL_EMPTY') && error.context.retryAfterSeconds === 5),
  );
  // Only the pauses of the queue move its clock, however busy the machine is.
  assert.ok(nowMs() - startMs >= 10_000 && nowMs() - startMs <= 12_000, `${nowMs() - startMs} ms`);
  await until(() => queue.count() === 0);
});

test('an init does not give up while those before it find nonces, however slow they are', async () => {
  const { queue, pool, clock } = openQueue({ speed: 100 });
  const project = newTenant();
  const leaseSlowly = () =>
    lease(queue, project, async () => {
      if (pool.free === 0) return null;
      pool.free -= 1;
      await clock.sleep(1_000);
      return 'leased';
    });
  const waiting = Array.from({ length: 15 }, leaseSlowly);
  await until(() => queue.count() === 15);
  pool.free = 15;
  await announce();
  assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['leased']));
  assert.ok(clock.now().getTime() > 10_000);
});

test('an init whose attempt is slow still waits: it is answered when nonces are available', async () => {
  const { queue, pool, nowMs } = openQueue({ speed: 20 });
  const slow = Promise.withResolvers<void>();
  let attempts = 0;
  const waiting = lease(queue, newTenant(), async () => {
    attempts += 1;
    const isFree = pool.free > 0;
    if (attempts === 2) await slow.promise;
    return isFree ? 'leased' : null;
  });
  await until(() => attempts === 2);
  assert.equal(queue.count(), 1);
  const beganMs = nowMs();
  // The queue has polled at least once since.
  await until(() => nowMs() - beganMs > 2_000);
  pool.free = 1;
  slow.resolve();
  assert.equal(await waiting, 'leased');
});

test('a queue that stops answers all that wait at once, and keeps neither a report nor a listener', async () => {
  const { queue, pool } = openQueue();
  const project = newTenant();
  const tryToLease = () => lease(queue, project, async () => (pool.free > 0 ? 'leased' : null)).catch((error) => error);
  const { address: multisig } = project.flywheel.multisig;
  const reports = () =>
    database.db.selectFrom('nonce_waiters').select('process').where('multisig', '=', multisig).execute();
  const waiting = [tryToLease(), tryToLease()];
  await waitUntil('a report', reports, (rows) => rows.length > 0, { intervalMs: 5 });
  await queue.stop();
  for (const error of await Promise.all(waiting)) assert.ok(isApiError(error, 'ERR_NONCE_POOL_EMPTY'));
  assert.ok(isApiError(await tryToLease(), 'ERR_NONCE_POOL_EMPTY'));
  assert.deepEqual([queue.count(), await reports()], [0, []]);
  pool.free = 1;
  assert.equal(await tryToLease(), 'leased', 'an init that need not wait is finished');
});

test('an error of an attempt ends its wait only', async () => {
  const { queue, pool } = openQueue();
  const project = newTenant();
  const failing = lease(queue, project, async () => {
    if (pool.free === 0) return null;
    throw new Error('limit reached');
  });
  const other = lease(queue, project, async () => (pool.free > 0 ? 'leased' : null));
  const failed = assert.rejects(failing, /limit reached/);
  await until(() => queue.count() === 2);
  pool.free = 1;
  await announce();
  await failed;
  assert.equal(await other, 'leased');
});

/** Makes an attempt in each turn, until one does not find the pool empty (null). */
async function lease(queue: NonceQueue, project: Project, attempt: () => Promise<string | null>): Promise<string> {
  using ticket = queue.enter(project);
  for (;;) {
    await ticket.turn();
    const leased = await attempt();
    if (leased !== null) return leased;
  }
}

function announce(): Promise<unknown> {
  return sql`select pg_notify('flywheel_nonces', '')`.execute(database.db);
}

/** Opens a queue, on a clock that may run faster, beside a pool that is empty at first. */
function openQueue({ speed = 1 } = {}) {
  let nowMs = 0;
  const clock = {
    now: () => new Date(nowMs),
    sleep: async (ms: number) => {
      await sleep(ms / speed);
      nowMs += ms;
    },
  };
  const jobs = { enqueue: async () => undefined };
  const { db, poolConfig } = database;
  const queue = createNonceQueue({ db, sessionConfig: poolConfig, jobs, clock, log: quietLog });
  return { queue, pool: { free: 0 }, clock, nowMs: () => nowMs };
}

function newTenant(): Project {
  return { ...newProject(), isAdmitted: false } as Project;
}

async function until(isReached: () => boolean): Promise<void> {
  await waitUntil('the queue', isReached, (reached) => reached, { intervalMs: 1 });
}
