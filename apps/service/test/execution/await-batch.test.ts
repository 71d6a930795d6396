import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFinalStatus } from '@flywheel/api';
import { instantClock } from '@flywheel/testing/clock';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { endBatch, NOW, RESERVED, storeBatch, storeNonces, storeProject } from '@flywheel/testing/records';
import { awaitBatch } from '../../src/batches/read.ts';
import { systemClock } from '../../src/clock.ts';
import type { Clock } from '../../src/model/clock.ts';
import { startEventFeed } from '../../src/store/batches/events.ts';

const { db, poolConfig } = await openTestDatabase();
await storeNonces(db, 3);

test('an answer that waits for the end of a batch comes with it, and not some time later', async (t) => {
  const { id } = await storeBatch(db, await storeProject(db));
  const feed = startEventFeed({ sessionConfig: poolConfig, clock: systemClock, log: quietLog });
  t.after(() => feed.stop());
  const waiting = Promise.withResolvers<void>();
  const still: Clock = {
    now: () => NOW,
    // Time stands still: only an event ends a wait.
    sleep: async (_ms, signal) => {
      waiting.resolve();
      // The feed may have begun to listen during the look.
      signal?.throwIfAborted();
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    },
  };
  const wait = { waitMs: 60_000, signal: new AbortController().signal };
  const answer = awaitBatch({ db, clock: still, feed }, id, ({ status }) => isFinalStatus(status), wait);
  await waiting.promise;
  await endBatch(db, id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, NOW);
  assert.equal((await answer).status, 'FAILED');
});

test('an event that arrives during a look is not missed', async () => {
  const { id } = await storeBatch(db, await storeProject(db));
  const clock: Clock = {
    now: () => NOW,
    sleep: async (_ms, signal) => {
      await endBatch(db, id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, NOW);
      signal?.throwIfAborted();
      await new Promise(() => undefined);
    },
  };
  let wake = (): void => undefined;
  const feed = {
    watch: (_id: string, onEvent: () => void) => {
      wake = onEvent;
      return () => undefined;
    },
  };
  const wait = { waitMs: 60_000, signal: new AbortController().signal };
  const answer = awaitBatch({ db, clock, feed }, id, ({ status }) => isFinalStatus(status), wait);
  // The first look has begun, and sees the batch open.
  wake();
  assert.equal((await answer).status, 'FAILED');
});

test('an answer that waits comes when its time is over, and looks now and then if no event does', async () => {
  const { id } = await storeBatch(db, await storeProject(db));
  const clock = instantClock();
  const silent = { watch: () => () => undefined };
  const wait = { waitMs: 2_500, signal: new AbortController().signal };
  const { status } = await awaitBatch({ db, clock, feed: silent }, id, () => false, wait);
  assert.equal(status, 'AVAILABLE_TO_QUEUE');
  assert.deepEqual(clock.sleeps, [1_000, 1_000, 500]);
});
