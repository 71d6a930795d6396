import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createVolatileMemoryStore } from '@flywheel/sdk/collector';
import { waitUntil } from '@flywheel/testing/batches';
import { type CollectorWorld, event, openCollectorWorld } from './open-collector.ts';

let world: CollectorWorld;
before(async () => {
  world = await openCollectorWorld();
});

const DAY_MS = 86_400_000;

describe('a collector whose clock is set back by a day', () => {
  it('pays the next event as soon as its pace allows', async (t) => {
    let aheadMs = DAY_MS;
    const now = Date.now.bind(Date);
    t.mock.method(Date, 'now', () => now() + aheadMs);
    const service = world.serve();
    const collector = await world.open(service, createVolatileMemoryStore(), { minOpenIntervalMs: 20 });
    await collector.collect(event('first', 'ada'));
    await collector.idle();
    aheadMs = 0;
    await collector.collect(event('second', 'bob'));
    await collector.idle();
    assert.deepEqual(service.paid, ['first', 'second']);
    await collector.stop();
  });

  it('pays an event that it has accepted before', async (t) => {
    const store = createVolatileMemoryStore();
    const service = world.serve();
    const now = Date.now.bind(Date);
    const clock = t.mock.method(Date, 'now', () => now() + DAY_MS);
    const ahead = await world.open(service, store, { maxAgeMs: 60_000 });
    await ahead.collect(event('accepted ahead', 'ada'));
    await ahead.stop();
    clock.mock.restore();
    const collector = await world.open(service, store, { maxAgeMs: 60_000 });
    await waitUntil(
      'a payment',
      () => service.paid.length,
      (count) => count > 0,
      { intervalMs: 5 },
    );
    assert.deepEqual(service.paid, ['accepted ahead']);
    await collector.stop();
  });
});

describe('a collector with a wait that no timer keeps', () => {
  const MAX_TIMER_MS = 2 ** 31 - 1;
  for (const [name, options] of Object.entries({
    finalAfterMs: { finalAfterMs: MAX_TIMER_MS + 1 },
    'retryMs[1]': { retryMs: [0, MAX_TIMER_MS + 1] },
    'retryMs[0]': { retryMs: [2, 1] },
  } as const)) {
    it(`is not created: ${name}`, async () => {
      const creating = world.open(world.serve(), createVolatileMemoryStore(), options);
      await assert.rejects(creating, (error) => error instanceof RangeError && error.message.startsWith(`${name} is `));
    });
  }
});
