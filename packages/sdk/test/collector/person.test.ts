import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createFlywheelClient, isFlywheelError } from '@flywheel/sdk';
import { type CollectorAlarm, createVolatileMemoryStore } from '@flywheel/sdk/collector';
import { waitUntil } from '@flywheel/testing/batches';
import { BEHAVIOURS, type CollectorWorld, event, openCollectorWorld } from './open-collector.ts';

let world: CollectorWorld;
before(async () => {
  world = await openCollectorWorld();
});

describe('a collector whose batches a person approves', () => {
  it('parks its batches, and records what the person has executed', async () => {
    const service = world.serve((to) => BEHAVIOURS[to]);
    const client = createFlywheelClient({ url: 'http://fake', apiKey: 'fw_key', fetch: service.fetch });
    const approved: string[] = [];
    const collector = await world.open(service, createVolatileMemoryStore(), {
      approval: 'person',
      onAlarm: (alarm) => {
        if (alarm.kind !== 'approvalNeeded') return;
        approved.push(alarm.batchId);
        client.executeBatch({ batchId: alarm.batchId, signedTx: 'signed by a person' });
      },
    });
    await Promise.all(['ada', 'shaky', 'bob'].map((to, i) => collector.collect(event(`e${i}`, to))));
    await collector.idle();
    assert.deepEqual(service.paid.toSorted(), ['e0', 'e1', 'e2']);
    assert.equal(new Set(approved).size, approved.length);
    await collector.stop();
  });

  it('does not ask for a batch that was created after another collector had replaced it', async () => {
    const service = world.serve();
    const store = createVolatileMemoryStore();
    const { promise: isSent, resolve: noteSent } = Promise.withResolvers<void>();
    const { promise: isDelivered, resolve: deliver } = Promise.withResolvers<void>();
    const slow: typeof fetch = async (...request) => {
      if (String(request[0]).endsWith('/init')) {
        noteSent();
        await isDelivered;
      }
      return service.fetch(...request);
    };
    const person = { approval: 'person', maxItems: 2, maxAgeMs: 600_000 } as const;
    const asked: CollectorAlarm[] = [];
    const replaced = await world.open({ fetch: slow }, store, { ...person, onAlarm: (alarm) => asked.push(alarm) });
    await Promise.all(['a', 'b'].map((id) => replaced.collect(event(id, 'ada'))));
    await isSent;
    // The other one is refused the same batch, and divides it.
    service.limit = 1;
    const collector = await world.open(service, store, { maxItems: 2, maxAgeMs: 600_000 });
    await collector.idle();
    service.limit = 2;
    deliver();
    await waitUntil(
      'the end',
      () => asked,
      (alarms) => alarms.some(({ kind }) => kind === 'stopped'),
    );
    assert.deepEqual(service.inits.at(-1), ['a', 'b'], 'the earlier request has created its batch');
    assert.deepEqual(
      asked.map(({ kind }) => kind),
      ['stopped'],
    );
    assert.ok(isFlywheelError(replaced.stopped.error, 'ERR_COLLECTOR_REPLACED'));
    assert.deepEqual(service.paid.toSorted(), ['a', 'b']);
    await Promise.all([replaced.stop(), collector.stop()]);
  });

  it('says how many events wait, also of those that share a pipeline', async () => {
    const service = world.serve();
    const waiting: CollectorAlarm[] = [];
    const collector = await world.open(service, createVolatileMemoryStore(), {
      ...{ approval: 'person', mergeAirdrops: true, maxItems: 3, maxAgeMs: 600_000 },
      onAlarm: (alarm) => waiting.push(alarm),
    });
    await Promise.all(['a', 'b', 'c'].map((id) => collector.collect(event(id, 'ada'))));
    await waitUntil(
      'the alarm',
      () => waiting,
      ({ length }) => length > 0,
    );
    assert.deepEqual(
      waiting.map((alarm) => alarm.kind === 'approvalNeeded' && alarm.items),
      [3],
    );
    await collector.stop();
  });
});
