import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { before, describe, it } from 'node:test';
import type { InitBatchRequest } from '@flywheel/api';
import { writeMergedPayload } from '@flywheel/protocol';
import { airdrop, burn, isFlywheelError, proofHash } from '@flywheel/sdk';
import {
  type CollectorAlarm,
  createVolatileMemoryStore,
  type ItemStatus,
  RECIPIENT_PARKED,
} from '@flywheel/sdk/collector';
import type { Behaviour } from './fake-service.ts';
import { BEHAVIOURS, type CollectorWorld, event, nameEvents, openCollectorWorld } from './open-collector.ts';

let world: CollectorWorld;
before(async () => {
  world = await openCollectorWorld();
});

describe('a collector', () => {
  it('pays each event once, in batches, and reports each', async () => {
    const service = world.serve();
    const reported: string[] = [];
    const collector = await world.open(service, createVolatileMemoryStore(), {
      ...{ maxItems: 3, maxAgeMs: 600_000 },
      onPaid: ({ id }) => reported.push(id),
    });
    const ids = ['a', 'b', 'c', 'a', 'b', 'd'];
    const accepted = await Promise.all(ids.map((id) => collector.collect(event(id, 'ada'))));
    assert.deepEqual(
      accepted.map(({ state }) => state),
      ids.map(() => 'pending'),
    );
    await collector.idle();
    assert.deepEqual(service.paid, ['a', 'b', 'c', 'd']);
    assert.deepEqual(service.inits, [['a', 'b', 'c'], ['d']]);
    assert.deepEqual(reported, ['a', 'b', 'c', 'd']);
    const status = await collector.status('d');
    assert.deepEqual([status?.state, status?.position, status?.payload], ['paid', 0, '{"id":"d"}']);
    assert.equal((await collector.collect(event('d', 'ada'))).state, 'paid');
    assert.equal(await collector.status('x'), null);
    const { accepted: all, paid, pending } = collector.metrics();
    assert.deepEqual([all, paid, pending], [4, 4, 0]);
    await collector.stop();
    await collector.stop();
    await assert.rejects(collector.collect(event('e', 'ada')), code('ERR_COLLECTOR_STOPPED'));
  });

  it('accepts no known id with another content, and nothing that no service accepts', async () => {
    const collector = await world.open(world.serve(), createVolatileMemoryStore());
    await collector.collect(event('a', 'ada'));
    await assert.rejects(collector.collect(event('a', 'bob')), code('ERR_ITEM_CHANGED'));
    for (const [item, error] of [
      [{ ...event('b', 'ada'), id: '' }, 'ERR_INVALID_REQUEST'],
      [{ ...event('b', 'ada'), id: 'a\u0000b' }, 'ERR_INVALID_REQUEST'],
      [{ ...event('b', 'ada'), type: 'NOT A TYPE' }, 'ERR_INVALID_REQUEST'],
      [{ ...event('b', 'ada'), payload: '[]' }, 'ERR_INVALID_REQUEST'],
      [{ ...event('b', 'ada'), payload: '{"half":"\ud800"}' }, 'ERR_INVALID_REQUEST'],
      [{ ...event('b', 'ada'), actions: [] }, 'ERR_INVALID_REQUEST'],
      [{ ...event('b', 'ada'), actions: Array.from({ length: 65 }, () => burn(1)) }, 'ERR_FLYWHEEL_PIPELINE_TOO_BIG'],
    ] as const) {
      await assert.rejects(collector.collect(item), code(error));
    }
    assert.equal(collector.metrics().accepted, 1);
    await collector.stop();
  });

  it('waits while a proxy answers for the service', async () => {
    const service = world.serve();
    const alarms: CollectorAlarm[] = [];
    let isReloading = true;
    const behind: typeof fetch = async (input, init) => {
      const page = new Response('<h1>Not found</h1>', { status: 404 });
      return isReloading && init?.method === 'POST' ? page : service.fetch(input, init);
    };
    const onAlarm = (alarm: CollectorAlarm) => {
      alarms.push(alarm);
      isReloading = false;
    };
    const collector = await world.open({ fetch: behind }, createVolatileMemoryStore(), { onAlarm });
    await collector.collect(event('a', 'ada'));
    await collector.idle();
    assert.deepEqual(service.paid, ['a']);
    assert.deepEqual(
      alarms.map((alarm) => (alarm.kind === 'waiting' ? alarm.code : alarm.kind)),
      ['ERR_UNEXPECTED_REPLY'],
    );
    await collector.stop();
  });

  it('signs again after the service has given up an execution that had begun with an earlier approval', async () => {
    const service = world.serve();
    let isInitLost = false;
    service.onRequest = (when, operation) => {
      if (when === 'before' || operation !== 'POST init' || isInitLost) return;
      isInitLost = true;
      throw new TypeError('fetch failed');
    };
    let hasBegun = false;
    const begun: typeof fetch = async (input, init) => {
      if (!String(input).endsWith('/execute') || hasBegun) return service.fetch(input, init);
      hasBegun = true;
      const { batchId } = JSON.parse(String(init?.body));
      return Response.json({ batchId, status: 'FINALIZED' }, { status: 202 });
    };
    const alarms: CollectorAlarm[] = [];
    const onAlarm = (alarm: CollectorAlarm) => alarms.push(alarm);
    const collector = await world.open({ fetch: begun }, createVolatileMemoryStore(), { onAlarm });
    await collector.collect(event('a', 'ada'));
    await collector.idle();
    assert.deepEqual(service.paid, ['a']);
    const waits = alarms.map((alarm) => (alarm.kind === 'waiting' ? alarm.code : alarm.kind));
    assert.deepEqual(waits, ['ERR_UNREACHABLE', 'ERR_SIGNED_TX_INVALID']);
    await collector.stop();
  });

  it('quarantines what the service names, parks who fails again and again, and pays all others', async () => {
    const service = world.serve((to) => BEHAVIOURS[to]);
    const alarms: CollectorAlarm[] = [];
    const rejected: ItemStatus[] = [];
    const collector = await world.open(service, createVolatileMemoryStore(), {
      onAlarm: (alarm) => alarms.push(alarm),
      onRejected: (item) => rejected.push(item),
    });
    const recipients = ['ada', 'hostile', 'bob', 'mint', 'cyd', 'checked', 'shaky', 'hostile', 'dan'];
    await Promise.all(recipients.map((to, i) => collector.collect(event(`e${i}`, to))));
    await collector.collect({ ...event('bad', 'ada'), type: 'UNKNOWN' });
    await collector.idle();
    const good = ['e0', 'e2', 'e4', 'e6', 'e8'];
    assert.deepEqual(service.paid.toSorted(), good);
    const reasons = new Map(rejected.map(({ id, reason }) => [id, reason?.code]));
    assert.deepEqual(Object.fromEntries(reasons), {
      ...{ bad: 'ERR_FLYWHEEL_INVALID_PROOF_TYPE', e3: 'ERR_FLYWHEEL_INVALID_ACTION' },
      ...{ e1: RECIPIENT_PARKED, e5: RECIPIENT_PARKED, e7: RECIPIENT_PARKED },
    });
    const { quarantined } = collector.metrics();
    assert.equal(quarantined, 5);
    const gauges = alarms.flatMap((alarm) => (alarm.kind === 'quarantined' ? [alarm.quarantined] : []));
    assert.equal(gauges.at(-1), 5);
    const shared = service.inits.filter((ids) => ids.includes('e1') && ids.some((id) => good.includes(id)));
    assert.ok(shared.length <= 2, 'e1 shares batches with others until its first failure: after a check that named e5');
    const listed: string[] = [];
    for await (const { id } of collector.quarantined()) listed.push(id);
    assert.deepEqual(listed.toSorted(), ['bad', 'e1', 'e3', 'e5', 'e7']);
    await collector.stop();
  });

  it('pays airdrops of one type to one recipient together, and says which text proves each', async () => {
    const service = world.serve((to) => BEHAVIOURS[to]);
    const events = ['ada', 'bob', 'ada', 'hostile', 'ada', 'hostile', 'bob'].map((to, i) => event(`e${i}`, to));
    const others = [
      { ...event('equal', 'ada'), payload: { id: 'e0' } },
      { ...event('type', 'ada'), type: 'REFERRAL' },
      { ...event('burns', 'ada'), actions: [burn(1)] },
    ];
    nameEvents(service, events);
    const paid: ItemStatus[] = [];
    const options = { mergeAirdrops: true, maxAgeMs: 600_000, onPaid: (item: ItemStatus) => paid.push(item) };
    const collector = await world.open(service, createVolatileMemoryStore(), options);
    await Promise.all([...events, ...others].map((each) => collector.collect(each)));
    await collector.idle();
    const [first] = service.inits;
    assert.deepEqual(first, [
      ...merged('e0', 'e2', 'e4'),
      ...merged('e1', 'e6'),
      ...merged('e3', 'e5'),
      'e0',
      'type',
      'burns',
    ]);
    assert.equal(new Set(paid.map(({ id }) => id)).size, 8, 'all but those of the hostile recipient');
    const proofs = new Map(paid.map(({ id, mergedPayload }) => [id, mergedPayload]));
    const ofAda = writeMergedPayload(
      'WATCH_AD',
      ['e0', 'e2', 'e4'].map((id) => JSON.stringify({ id })),
    );
    for (const id of ['e0', 'e2', 'e4']) assert.equal(proofs.get(id), ofAda);
    for (const id of ['equal', 'type', 'burns']) assert.equal(proofs.get(id), null);
    assert.equal((await collector.status('e2'))?.mergedPayload, ofAda);
    assert.equal((await collector.collect(event('e2', 'ada'))).mergedPayload, ofAda);
    for (const id of ['e3', 'e5']) assert.equal((await collector.status(id))?.reason?.code, RECIPIENT_PARKED);
    await collector.stop();

    function merged(...ids: readonly string[]): string[] {
      const hashed = ids.map((id) => ({ id, hash: proofHash({ type: 'WATCH_AD', payload: JSON.stringify({ id }) }) }));
      return hashed.toSorted((a, b) => (a.hash < b.hash ? -1 : 1)).map(({ id }) => id);
    }
  });

  it('pays one by one what a service refuses to pay together, and adds amounts exactly', async () => {
    const service = world.serve();
    const alarms: CollectorAlarm[] = [];
    const bodies: InitBatchRequest[] = [];
    const refusing = {
      fetch: (async (input, init) => {
        const { pathname } = new URL(String(input));
        const { pipelines = [] }: InitBatchRequest = pathname.endsWith('/init') ? JSON.parse(String(init?.body)) : {};
        if (pipelines.length > 0) bodies.push({ pipelines });
        const named = pipelines.findIndex(({ payload }) => payload.includes('merged:v1'));
        if (named < 0) return service.fetch(input, init);
        const problem = {
          code: 'ERR_INVALID_REQUEST',
          message: 'Not of the schema.',
          place: `pipelines[${named}].payload`,
        };
        return Response.json({ error: problem.code, message: problem.message, problems: [problem] }, { status: 400 });
      }) as typeof fetch,
    };
    const options = { mergeAirdrops: true, maxAgeMs: 600_000, onAlarm: (alarm: CollectorAlarm) => alarms.push(alarm) };
    const collector = await world.open(refusing, createVolatileMemoryStore(), options);
    const amounts = [0.1, 0.2, 0.000001];
    await Promise.all(
      amounts.map((amount, i) => collector.collect({ ...event(`e${i}`, 'ada'), actions: [airdrop('ada', amount)] })),
    );
    await collector.idle();
    const [action] = bodies[0]?.pipelines[0]?.actions ?? [];
    assert.equal(action?.action === 'AIRDROP' && action.amount, 0.300001);
    assert.deepEqual(service.paid, ['e0', 'e1', 'e2']);
    assert.match(JSON.stringify(alarms), /Not of the schema\. Its 3 events are paid one by one\./);
    await collector.stop();
  });

  it('tries a requeued item once more in a batch of its own, and never pays a dropped one', async () => {
    const behaviours: Record<string, Behaviour | undefined> = { ...BEHAVIOURS };
    const service = world.serve((to) => behaviours[to]);
    const collector = await world.open(service, createVolatileMemoryStore());
    for (const id of ['h1', 'h2', 'h3']) await collector.collect(event(id, 'hostile'));
    await collector.idle();
    assert.equal(collector.metrics().quarantined, 3);
    const before = service.inits.length;
    await collector.requeue('h1');
    await collector.idle();
    assert.equal(service.inits.length, before + 1, 'one more attempt');
    assert.equal((await collector.status('h1'))?.state, 'quarantined');
    behaviours.hostile = undefined;
    await collector.requeue('h1');
    await collector.drop('h2');
    await collector.idle();
    await assert.rejects(collector.requeue('h2'), code('ERR_ITEM_STATE'));
    await assert.rejects(collector.drop('h1'), code('ERR_ITEM_STATE'));
    await assert.rejects(collector.drop('x'), /Item x cannot be dropped: it is not known\./);
    assert.deepEqual(service.paid, ['h1']);
    const { accepted, paid, quarantined, dropped, pending } = collector.metrics();
    assert.deepEqual([accepted, paid, quarantined, dropped, pending], [3, 1, 1, 1, 0]);
    assert.equal((await collector.collect(event('h2', 'hostile'))).state, 'dropped');
    await collector.stop();
  });

  it('counts no failure of a recipient whom a person has paid before the batch was cancelled', async () => {
    const behaviours: Record<string, Behaviour | undefined> = {};
    const service = world.serve((to) => behaviours[to]);
    service.onRequest = async (when, operation) => {
      if (when === 'after' || operation !== 'POST cancel') return;
      behaviours.checked = undefined;
      const batchId = `00000000-0000-8000-8000-${String(service.inits.length - 1).padStart(12, '0')}`;
      const body = JSON.stringify({ batchId, signedTx: 'signed by a person' });
      await service.fetch('http://fake/v1/flywheel/batch/execute', { method: 'POST', body });
    };
    const collector = await world.open(service, createVolatileMemoryStore(), { maxFailures: 2 });
    for (const id of ['a', 'b', 'c']) {
      behaviours.checked = 'refusesCheck';
      await collector.collect(event(id, 'checked'));
      await collector.idle();
      assert.equal((await collector.status(id))?.state, 'paid');
    }
    assert.deepEqual(service.paid, ['a', 'b', 'c']);
    await collector.stop();
  });

  it('stops with a clear message at an error that it does not know, and quarantines nothing', async () => {
    const service = world.serve();
    const store = createVolatileMemoryStore();
    const alarms: CollectorAlarm[] = [];
    service.onRequest = (when, operation) => {
      if (when === 'before' && operation === 'POST init') throw unauthorized;
    };
    const unauthorized = new TypeError('fetch failed');
    const answer = { error: 'ERR_UNAUTHORIZED', message: 'The API key was revoked.' };
    const refusing = { ...service, fetch: async () => Response.json(answer, { status: 401 }) };
    const collector = await world.open(refusing, store, { onAlarm: (alarm) => alarms.push(alarm) });
    await collector.collect(event('a', 'ada'));
    await assert.rejects(collector.idle(), code('ERR_COLLECTOR_STOPPED', /The API key was revoked/));
    await assert.rejects(collector.collect(event('b', 'ada')), code('ERR_COLLECTOR_STOPPED'));
    assert.ok(isFlywheelError(collector.stopped.error, 'ERR_UNAUTHORIZED'));
    assert.deepEqual(
      alarms.map(({ kind }) => kind),
      ['stopped'],
    );
    assert.match(JSON.stringify(alarms), /The API key was revoked/, 'as a program logs it');
    assert.deepEqual([collector.metrics().pending, collector.metrics().quarantined], [1, 0]);
    await collector.stop();

    service.onRequest = () => undefined;
    const next = await world.open(service, store);
    await next.idle();
    assert.deepEqual(service.paid, ['a']);
    await next.stop();
  });

  it('stops when another collector pays from its store', async () => {
    const service = world.serve();
    const store = createVolatileMemoryStore();
    const first = await world.open(service, store);
    const second = await world.open(service, store);
    await second.collect(event('a', 'ada'));
    await second.idle();
    await first.collect(event('b', 'ada'));
    await assert.rejects(first.idle(), code('ERR_COLLECTOR_STOPPED', /Another collector/));
    await second.idle();
    await Promise.all([first.stop(), second.stop()]);
    assert.deepEqual(service.paid, ['a', 'b']);
  });

  it('waits out errors that pass, and makes batches smaller that a limit refuses', async () => {
    const service = world.serve();
    service.limit = 3;
    let failures = 0;
    service.onRequest = (when) => {
      failures += 1;
      if (failures % 3 === 0 && failures < 40) throw new TypeError(`fetch failed ${when}`);
    };
    const alarms: CollectorAlarm[] = [];
    const collector = await world.open(service, createVolatileMemoryStore(), {
      onAlarm: (alarm) => alarms.push(alarm),
    });
    await Promise.all(Array.from({ length: 12 }, (_, i) => collector.collect(event(`e${i}`, 'ada'))));
    await collector.idle();
    assert.equal(service.paid.length, 12);
    assert.equal(new Set(service.paid).size, 12);
    const waits = new Set(alarms.flatMap((alarm) => (alarm.kind === 'waiting' ? [alarm.code] : [])));
    assert.deepEqual([...waits].toSorted(), ['ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED', 'ERR_UNREACHABLE']);
    await collector.stop();
  });

  it('opens batches of recipients who failed in turn with the others', async () => {
    const service = world.serve((to) => BEHAVIOURS[to]);
    const collector = await world.open(service, createVolatileMemoryStore(), { maxItems: 1, minOpenIntervalMs: 20 });
    const recipients = ['shaky', ...Array.from({ length: 12 }, () => 'ada')];
    await Promise.all(recipients.map((to, i) => collector.collect(event(`e${i}`, to))));
    await collector.idle();
    assert.equal(service.paid.length, recipients.length);
    assert.ok(service.paid.indexOf('e0') < 6, `e0 waited for all others: ${service.paid}`);
    await collector.stop();
  });

  it('lets collect wait while too many items are pending', async () => {
    const service = world.serve();
    const collector = await world.open(service, createVolatileMemoryStore(), { maxPending: 2, maxAgeMs: 600_000 });
    await Promise.all([collector.collect(event('a', 'ada')), collector.collect(event('b', 'ada'))]);
    const third = collector.collect(event('c', 'ada'));
    const first = await Promise.race([third, new Promise((resolve) => setImmediate(resolve, 'waits'))]);
    assert.equal(first, 'waits');
    const given = new AbortController();
    const fourth = assert.rejects(collector.collect(event('d', 'ada'), { signal: given.signal }), /given up/);
    given.abort(new Error('given up'));
    await fourth;
    await collector.idle();
    assert.equal((await third).id, 'c');
    await collector.idle();
    assert.deepEqual(service.paid, ['a', 'b', 'c']);
    await collector.stop();
  });

  it('leaves no listener on a signal that outlives its events, also after they have waited', async () => {
    const collector = await world.open(world.serve(), createVolatileMemoryStore(), { maxPending: 1 });
    const { signal } = new AbortController();
    await Promise.all(['a', 'b', 'c'].map((id) => collector.collect(event(id, 'ada'), { signal })));
    assert.deepEqual(getEventListeners(signal, 'abort'), []);
    await collector.stop();
  });

  it('iterates over results, each of which comes again until the next is asked for', async () => {
    const service = world.serve();
    const store = createVolatileMemoryStore();
    const first = await world.open(service, store);
    await Promise.all(['a', 'b', 'c'].map((id) => first.collect(event(id, 'ada'))));
    const seen: string[] = [];
    for await (const { id, state } of first.results()) {
      seen.push(`${id} ${state}`);
      if (seen.length === 2) break;
    }
    await first.stop();
    const second = await world.open(service, store);
    for await (const { id } of second.results()) {
      seen.push(id);
      if (id === 'c') second.stop();
    }
    assert.deepEqual(seen, ['a paid', 'b paid', 'b', 'c']);
  });
});

function code(expected: string, message = /./): (error: unknown) => boolean {
  return (error) => {
    assert.ok(isFlywheelError(error), String(error));
    assert.equal(error.code, expected, error.message);
    assert.match(error.message, message);
    return true;
  };
}
