import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Collector, createVolatileMemoryStore } from '@flywheel/sdk/collector';
import { waitUntil } from '@flywheel/testing/batches';
import type { Behaviour } from './fake-service.ts';
import { type CollectorWorld, event, openCollectorWorld } from './open-collector.ts';

let world: CollectorWorld;
before(async () => {
  world = await openCollectorWorld();
});

/** One batch of two. */
const TOGETHER = { maxItems: 2, maxAgeMs: 600_000 };

describe('an error that names no single event', () => {
  for (const [name, request, places] of [
    ['names no place', 'init', []],
    ['names a place that the batch does not have', 'init', ['pipelines[2].actions[0]']],
    ['names every pipeline', 'init', ['pipelines[0].actions[0]', 'pipelines[1].actions[0]']],
    ['is about the request to execute', 'execute', ['pipelines[0].actions[0]']],
  ] as const) {
    it(`stops the collector and leaves the events as they are: it ${name}`, async () => {
      const service = world.serve();
      const asked: string[] = [];
      const refusing: typeof fetch = async (input, init) => {
        const operation = String(input).split('/').at(-1) ?? '';
        if (init?.method === 'POST') asked.push(operation);
        return operation === request ? refusal(400, 'ERR_INVALID_REQUEST', places) : service.fetch(input, init);
      };
      const collector = await world.open({ fetch: refusing }, createVolatileMemoryStore(), TOGETHER);
      await collectTwo(collector);
      await until(() => collector.stopped.signal.aborted);
      assert.match(String(collector.stopped.error), /ERR_INVALID_REQUEST|Refused\./);
      assert.deepEqual(asked, request === 'init' ? ['init'] : ['init', 'execute']);
      assert.deepEqual([collector.metrics().pending, collector.metrics().quarantined], [2, 0]);
      assert.equal((await collector.status('a'))?.isInBatch, true);
      await collector.stop();
    });
  }
});

it('a check that names the only event and no recipient, as for a paused mint, stops the collector', async () => {
  const service = world.serve();
  const refusing: typeof fetch = async (input, init) =>
    String(input).endsWith('/execute')
      ? refusal(409, 'ERR_BATCH_WOULD_FAIL', ['pipelines[0].actions[0]'])
      : service.fetch(input, init);
  const collector = await world.open({ fetch: refusing }, createVolatileMemoryStore());
  await collector.collect(event('a', 'ada'));
  await until(() => collector.stopped.signal.aborted || collector.metrics().pending === 0);
  assert.match(String(collector.stopped.error), /Refused\./);
  assert.equal((await collector.status('a'))?.state, 'pending');
  await collector.stop();
});

it('a limit that refuses the execution of a batch does not divide it', async () => {
  const service = world.serve();
  const refusals = ['ERR_UNAVAILABLE', 'ERR_CAP_REACHED', 'ERR_CAP_REACHED'];
  const refusing: typeof fetch = async (input, init) => {
    const response = await service.fetch(input, init);
    const isInit = String(input).endsWith('/init');
    // The first answer of init is lost, so that the collector asks whether an execution has begun before it signs.
    const isRefused = refusals.length === 3 ? isInit : String(input).endsWith('/execute');
    const code = isRefused ? refusals.shift() : undefined;
    return code === undefined ? response : refusal(code === 'ERR_UNAVAILABLE' ? 503 : 429, code, []);
  };
  const collector = await world.open({ fetch: refusing }, createVolatileMemoryStore(), TOGETHER);
  await collectTwo(collector);
  await collector.idle();
  assert.deepEqual([service.inits, service.paid], [[['a', 'b']], ['a', 'b']]);
  await collector.stop();
});

it('a payment clears the failures of its recipient', async () => {
  const behaviours: Record<string, Behaviour | undefined> = {};
  const service = world.serve((to) => behaviours[to]);
  let failed = 0;
  service.onRequest = (when, operation) => {
    if (when === 'before' || operation !== 'POST execute' || behaviours.ada === undefined) return;
    failed += 1;
    behaviours.ada = undefined;
  };
  const collector = await world.open(service, createVolatileMemoryStore(), { maxFailures: 3 });
  for (const id of ['a', 'b', 'c']) {
    behaviours.ada = 'failsAlways';
    await collector.collect(event(id, 'ada'));
    await collector.idle();
    assert.equal((await collector.status(id))?.state, 'paid');
  }
  assert.equal(failed, 3);
  await collector.stop();
});

it('a recipient whom only the service holds back has not failed', async () => {
  const service = world.serve();
  let refusals = 4;
  const refusing: typeof fetch = async (input, init) => {
    if (!String(input).endsWith('/init') || refusals === 0) return service.fetch(input, init);
    refusals -= 1;
    return refusal(409, 'ERR_RECIPIENT_HELD_BACK', ['pipelines[0].actions[0].toAddress'], 'ada');
  };
  const collector = await world.open({ fetch: refusing }, createVolatileMemoryStore(), { maxFailures: 2 });
  await collector.collect(event('a', 'ada'));
  await collector.idle();
  assert.deepEqual([refusals, (await collector.status('a'))?.state], [0, 'paid']);
  await collector.stop();
});

it('an event that the scopes of the key do not allow is quarantined, and the others are paid', async () => {
  const service = world.serve();
  const refusing: typeof fetch = async (input, init) => {
    const hasOther = String(init?.body ?? '').includes('to b');
    const isRefused = String(input).endsWith('/init') && hasOther;
    return isRefused
      ? refusal(403, 'ERR_KEY_SCOPES_UNAUTHORIZED', ['pipelines[1].actions[0]'])
      : service.fetch(input, init);
  };
  const collector = await world.open({ fetch: refusing }, createVolatileMemoryStore(), TOGETHER);
  await collectTwo(collector);
  await collector.idle();
  assert.deepEqual(service.paid, ['a']);
  const { state, reason } = (await collector.status('b')) ?? {};
  assert.deepEqual([state, reason?.code], ['quarantined', 'ERR_KEY_SCOPES_UNAUTHORIZED']);
  await collector.stop();
});

it('an event that a limit has refused alone is tried again when its time is over', async () => {
  const service = world.serve();
  let refusals = 2;
  const refusing: typeof fetch = async (input, init) => {
    if (!String(input).endsWith('/init') || refusals === 0) return service.fetch(input, init);
    refusals -= 1;
    return refusal(429, 'ERR_POLICY_CAP_REACHED', []);
  };
  const collector = await world.open({ fetch: refusing }, createVolatileMemoryStore());
  await collector.collect(event('a', 'ada'));
  await until(() => service.paid.length === 1);
  await collector.stop();
});

it('an event whose check needs too much time is found and quarantined, and the others are paid', async () => {
  const service = world.serve();
  let refusals = 0;
  const refusing: typeof fetch = async (input, init) => {
    const isHostile = String(input).endsWith('/init') && /"id\\":\\"c\\"/.test(String(init?.body));
    if (!isHostile) return service.fetch(input, init);
    refusals += 1;
    // The time is that of all payloads, so that the place may be that of an innocent one.
    return refusal(503, 'ERR_SCHEMA_CHECK_UNAVAILABLE', ['pipelines[0].payload']);
  };
  const collector = await world.open({ fetch: refusing }, createVolatileMemoryStore(), { ...TOGETHER, maxItems: 4 });
  await Promise.all(['a', 'b', 'c', 'd'].map((id) => collector.collect(event(id, `to ${id}`))));
  await collector.idle();
  assert.deepEqual(service.paid.toSorted(), ['a', 'b', 'd']);
  const found = await collector.status('c');
  assert.deepEqual([found?.state, found?.reason?.code], ['quarantined', 'ERR_SCHEMA_CHECK_UNAVAILABLE']);
  // At least once among four and once among two, and three times alone.
  assert.ok(refusals >= 5, String(refusals));
  await collector.stop();
});

for (const [status, code, places] of [
  [500, 'ERR_BATCH_INIT_FAILED', []],
  [503, 'ERR_SCHEMA_CHECK_UNAVAILABLE', ['body']],
] as const) {
  it(`${code} of the service itself is waited out, and blames no event`, async () => {
    const service = world.serve();
    let failures = 20;
    const failing: typeof fetch = async (input, init) => {
      if (!String(input).endsWith('/init') || failures === 0) return service.fetch(input, init);
      failures -= 1;
      return refusal(status, code, places);
    };
    const collector = await world.open({ fetch: failing }, createVolatileMemoryStore(), TOGETHER);
    await collectTwo(collector);
    await collector.idle();
    assert.deepEqual([failures, service.inits, service.paid], [0, [['a', 'b']], ['a', 'b']]);
    await collector.stop();
  });
}

function refusal(status: number, error: string, places: readonly string[], recipient?: string): Response {
  const problems = places.map((place) => ({ code: error, message: 'Refused.', place, recipient }));
  return Response.json({ error, message: 'Refused.', problems }, { status });
}

async function collectTwo(collector: Collector): Promise<void> {
  await Promise.all(['a', 'b'].map((id) => collector.collect(event(id, `to ${id}`))));
}

async function until(isTrue: () => boolean): Promise<void> {
  await waitUntil('the collector', isTrue, (isSo) => isSo, { intervalMs: 5 });
}
