import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { isFlywheelError } from '@flywheel/sdk';
import {
  type CollectedItem,
  type Collector,
  type CollectorAlarm,
  createItemHandler,
  createVolatileMemoryStore,
} from '@flywheel/sdk/collector';
import { type CollectorWorld, event, openCollectorWorld } from './open-collector.ts';

let world: CollectorWorld;
before(async () => {
  world = await openCollectorWorld();
});

const toEvent = (line: string) => event(JSON.parse(line).id, 'ada');

describe('collectAll', () => {
  it('pays all of a source, and tells what is no item without stopping', async () => {
    const service = world.serve();
    const alarms: CollectorAlarm[] = [];
    const onAlarm = (alarm: CollectorAlarm) => void alarms.push(alarm);
    const collector = await world.open(service, createVolatileMemoryStore(), { onAlarm });
    await collector.collectAll(['{"id":"a"}', '{', '{"id":""}', '{"id":"b"}', '{"id":"a"}'], toEvent);
    assert.deepEqual(service.paid.toSorted(), ['a', 'b']);
    assert.deepEqual(
      alarms.map((alarm) => alarm.kind === 'invalid' && [alarm.element, alarm.message.split(' ', 2).join(' ')]),
      [
        ['{', 'Expected property'],
        ['{"id":""}', '"" is'],
      ],
    );
    await collector.stop();
  });

  it('goes on after elements that a program without types makes no item of', async () => {
    const service = world.serve();
    const messages: string[] = [];
    const onAlarm = (alarm: CollectorAlarm) => void (alarm.kind === 'invalid' && messages.push(alarm.message));
    const collector = await world.open(service, createVolatileMemoryStore(), { onAlarm });
    const elements: unknown[] = [
      undefined,
      { ...event('a', 'ada'), id: 1n },
      { ...event('b', 'ada'), payload: { amount: 1n } },
      event('c', 'ada'),
    ];
    await collector.collectAll(elements, (element) => element as CollectedItem);
    assert.deepEqual(service.paid, ['c']);
    assert.deepEqual(messages, [
      'An item must be an object.',
      'A value of type bigint is not a valid id: use 1 to 200 characters without control characters.',
      'Item b: payload cannot be written as JSON: Do not know how to serialize a BigInt',
    ]);
    await collector.stop();
  });

  it('throws what is no item if nobody hears alarms, and what the source throws', async () => {
    const collector = await world.open(world.serve(), createVolatileMemoryStore());
    await assert.rejects(collector.collectAll(['{'], toEvent), (error) =>
      isFlywheelError(error, 'ERR_INVALID_REQUEST'),
    );
    async function* breaking() {
      yield '{"id":"a"}';
      throw new Error('the disk is gone');
    }
    await assert.rejects(collector.collectAll(breaking(), toEvent), /the disk is gone/);
    await collector.stop();
    await assert.rejects(collector.collectAll(['{"id":"b"}'], toEvent), (error) =>
      isFlywheelError(error, 'ERR_COLLECTOR_STOPPED'),
    );
  });
});

describe('createItemHandler', () => {
  it('answers what has become of the item, and each error of collect with its status', async () => {
    const collector = await world.open(world.serve(), createVolatileMemoryStore());
    const handle = createItemHandler(collector, (body) => event(String(Reflect.get(Object(body), 'id')), to));
    let to = 'ada';
    assert.deepEqual(await ask(handle, '{"id":"a"}'), [200, 'a']);
    await collector.idle();
    assert.deepEqual(await ask(handle, '{"id":"a"}'), [200, 'a']);
    to = 'bob';
    assert.deepEqual(await ask(handle, '{"id":"a"}'), [409, 'ERR_ITEM_CHANGED']);
    assert.deepEqual(await ask(handle, '{"id":""}'), [400, 'ERR_INVALID_REQUEST']);
    assert.deepEqual(await ask(handle, '{'), [400, 'ERR_INVALID_REQUEST']);
    assert.deepEqual(await ask(handle, '{"id":"b"}', 'text/plain'), [415, 'ERR_INVALID_REQUEST']);
    await collector.stop();
    assert.deepEqual(await ask(handle, '{"id":"b"}'), [503, 'ERR_COLLECTOR_STOPPED']);
  });

  it('throws errors of the store, because the event may be reported again', async () => {
    const collect: Collector['collect'] = async () => {
      throw new Error('the disk is full');
    };
    const handle = createItemHandler({ collect }, () => event('a', 'ada'));
    await assert.rejects(ask(handle, '{}'), /the disk is full/);
  });

  it('waits for no place in the store when its client has hung up', async () => {
    const collector = await world.open(world.serve(), createVolatileMemoryStore(), {
      maxPending: 1,
      maxAgeMs: 600_000,
    });
    await collector.collect(event('a', 'ada'));
    const handle = createItemHandler(collector, () => event('b', 'bob'));
    const client = new AbortController();
    const [headers, signal] = [{ 'content-type': 'application/json' }, client.signal];
    const answer = handle(new Request('http://localhost/', { method: 'POST', headers, body: '{}', signal }));
    const reason = new Error('gone');
    setImmediate(() => client.abort(reason));
    await assert.rejects(answer, (error) => error === reason);
    assert.equal(await collector.status('b'), null);
    await collector.stop();
  });
});

async function ask(handle: (request: Request) => Promise<Response>, body: string, type = 'application/json') {
  const headers = { 'content-type': type };
  const response = await handle(new Request('http://localhost/', { method: 'POST', headers, body }));
  const answer: { readonly id?: string; readonly error?: string } = JSON.parse(await response.text());
  return [response.status, answer.id ?? answer.error];
}
