import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { systemClock } from '../../src/clock.ts';
import type { RateLimits } from '../../src/model/rate-limit.ts';
import { closeDb, openDb } from '../../src/store/db.ts';
import { createRateLimits } from '../../src/store/rate-limits.ts';

const { db, poolConfig } = await openTestDatabase();

const LIMITS: RateLimits['limits'] = {
  init: { requests: 10, seconds: 60 },
  execute: { requests: 10, seconds: 60 },
  get: { requests: 3, seconds: 1 },
  preview: { requests: 10, seconds: 60 },
  current: { requests: 3, seconds: 1 },
  console: { requests: 60, seconds: 60 },
  heavy: { requests: 60, seconds: 60 },
  project: { requests: 60, seconds: 60 },
  proof: { requests: 60, seconds: 60 },
};

test('a rate limit passes exactly its number of 200 simultaneous requests over two pools', async () => {
  const other = openDb(poolConfig, quietLog);
  const limits = [createRateLimits(db, LIMITS, systemClock), createRateLimits(other, LIMITS, systemClock)];
  const key = randomUUID();
  const states = await Promise.all(
    limits.flatMap((rateLimits) => Array.from({ length: 100 }, () => rateLimits.consume('init', key))),
  );
  await closeDb(other);
  assert.equal(states.filter(({ allowed }) => allowed).length, 10);
});

test('a rate limit reports what remains and when it resets', async () => {
  const rateLimits = createRateLimits(db, LIMITS, systemClock);
  const key = randomUUID();
  assert.deepEqual(await rateLimits.consume('init', key), { allowed: true, remaining: 9, resetSeconds: 60 });
  for (let i = 0; i < 9; i++) await rateLimits.consume('init', key);
  const refused = await rateLimits.consume('init', key);
  assert.deepEqual({ ...refused, resetSeconds: 60 }, { allowed: false, remaining: 0, resetSeconds: 60 });
  assert.ok(refused.resetSeconds > 50 && refused.resetSeconds <= 60, String(refused.resetSeconds));
});

test('rate limits count keys and operations separately', async () => {
  const rateLimits = createRateLimits(db, LIMITS, systemClock);
  const [one, two] = [randomUUID(), randomUUID()];
  for (let i = 0; i < 11; i++) await rateLimits.consume('init', one);
  assert.equal((await rateLimits.consume('init', one)).allowed, false);
  assert.equal((await rateLimits.consume('init', two)).allowed, true);
  assert.equal((await rateLimits.consume('execute', one)).allowed, true);
});

test('a rate limit passes a rejected key again in its next window', async () => {
  let nowMs = Date.now();
  const rateLimits = createRateLimits(db, LIMITS, { now: () => new Date(nowMs) });
  const key = randomUUID();
  const states = await Promise.all([1, 2, 3, 4].map(() => rateLimits.consume('get', key)));
  assert.equal(states.filter(({ allowed }) => allowed).length, 3);
  nowMs += 999;
  assert.equal((await rateLimits.consume('get', key)).allowed, false);
  nowMs += 1;
  assert.equal((await rateLimits.consume('get', key)).allowed, true);
});

test('a rate limit throws if the database fails, and neither passes nor rejects', async () => {
  const broken = openDb({ ...poolConfig, host: '/nowhere' }, quietLog);
  await assert.rejects(createRateLimits(broken, LIMITS, systemClock).consume('init', 'key'), /ENOENT/);
  await closeDb(broken);
});
