import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { InitBatchRequest } from '@flywheel/api';
import { airdrop, burn, isFlywheelError } from '@flywheel/sdk';
import { type Collector, type CollectorOptions, createVolatileMemoryStore } from '@flywheel/sdk/collector';
import { waitUntil } from '@flywheel/testing/batches';
import { generateKeyPairSigner } from '@solana/kit';
import { type CollectorWorld, event, nameEvents, openCollectorWorld } from './open-collector.ts';

let world: CollectorWorld;
before(async () => {
  world = await openCollectorWorld();
});

describe('a collector that a limit refuses', () => {
  for (const isNamed of [true, false]) {
    it(`pays all others beside a recipient above its cap, ${isNamed ? 'who is named' : 'who is not named'}`, async () => {
      const service = world.serve();
      service.caps.set('greedy', { tokens: 1, isNamed });
      const collector = await world.open(service, createVolatileMemoryStore());
      for (const id of ['g0', 'g1', 'g2']) await collector.collect(event(id, 'greedy'));
      const others = Array.from({ length: 20 }, (_, i) => `e${i}`);
      await Promise.all(others.map((id, i) => collector.collect(event(id, `to${i}`))));
      await until(() => service.paid.length === 21);
      const [paid] = ['g0', 'g1', 'g2'].filter((id) => service.paid.includes(id));
      assert.deepEqual(service.paid.toSorted(), [paid, ...others].toSorted());
      await dropWhenFree(collector, paid === 'g2' ? 'g1' : 'g2');
      await collector.stop();
    });
  }

  it('puts later events of such a recipient in no batch of others', async () => {
    const service = world.serve();
    service.caps.set('greedy', { tokens: 0, isNamed: true });
    const collector = await world.open(service, createVolatileMemoryStore());
    await collector.collect(event('g0', 'greedy'));
    await until(async () => collector.metrics().waitingFor?.kind === 'waiting' && (await isFree(collector, 'g0')));
    const before = service.refused.length;
    await Promise.all(['greedy', 'ada', 'bob'].map((to) => collector.collect(event(`of ${to}`, to))));
    await until(() => service.paid.length === 2);
    assert.deepEqual(service.refused.slice(before), [], 'the recipient is known to be above the cap');
    await collector.stop();
  });

  it('keeps no event in a batch that is above the key’s share of a daily amount', async () => {
    const service = world.serve();
    const cap = { scope: 'key', kind: 'burn', cap: '50', used: '0', asked: '80' };
    const refusing: typeof fetch = async (input, init) =>
      String(input).endsWith('/init') && String(init?.body).includes('large')
        ? Response.json({ error: 'ERR_CAP_REACHED', message: 'Above the share.', cap }, { status: 429 })
        : service.fetch(input, init);
    const collector = await world.open({ fetch: refusing }, createVolatileMemoryStore());
    await collector.collect(event('large', 'ada'));
    await until(() => collector.metrics().waitingFor?.kind === 'waiting');
    await dropWhenFree(collector, 'large');
    await collector.stop();
  });

  it('pays what a used-up daily limit does not concern, behind events that it refuses', async () => {
    const service = world.serve();
    const headers = { 'retry-after': '36000' };
    let refusals = 0;
    const refusing: typeof fetch = async (input, init) => {
      if (!String(input).endsWith('/init') || !String(init?.body).includes('AIRDROP'))
        return service.fetch(input, init);
      refusals += 1;
      return Response.json(
        { error: 'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED', message: 'Used up.' },
        { status: 400, headers },
      );
    };
    const collector = await world.open({ fetch: refusing }, createVolatileMemoryStore());
    for (let i = 0; i < 12; i += 1) await collector.collect(event(`e${i}`, 'ada'));
    await collector.collect({ ...event('burned', 'ada'), actions: [burn(1)] });
    await until(() => service.paid.length === 1);
    const before = refusals;
    await collector.collect({ ...event('burned later', 'ada'), actions: [burn(1)] });
    await until(() => service.paid.length === 2);
    assert.equal(refusals, before, 'none is sent again before the day is over');
    await collector.stop();
  });

  it('divides a small batch at once, whatever a full one holds', async () => {
    const service = world.serve();
    service.limit = 1;
    const collector = await world.open(service, createVolatileMemoryStore(), { maxItems: 500, maxAgeMs: 600_000 });
    await Promise.all(['ada', 'bob'].map((to) => collector.collect(event(`of ${to}`, to))));
    await collector.idle();
    await collector.stop();
    assert.deepEqual(service.paid.toSorted(), ['of ada', 'of bob']);
    assert.equal(service.refused.length, 2, 'the same batch is tried once more before it is divided');
  });

  it('divides a batch whose events share one pipeline', async () => {
    const service = world.serve();
    service.caps.set('ada', { tokens: 4, isNamed: false });
    const events = Array.from({ length: 10 }, (_, i) => event(`e${i}`, 'ada'));
    nameEvents(service, events);
    const options = { mergeAirdrops: true, maxItems: 10, maxAgeMs: 600_000 };
    const collector = await world.open(service, createVolatileMemoryStore(), options);
    await Promise.all(events.map((each) => collector.collect(each)));
    const idle = collector.idle().catch(() => undefined);
    await until(() => service.paid.length === 4);
    assert.equal(new Set(service.paid).size, 4);
    await collector.stop();
    await idle;
  });
});

it('a collector sends no more bytes in one request than it may, and a larger event alone', async () => {
  const service = world.serve();
  const options = { maxBytes: 500, maxAgeMs: 600_000 };
  const collector = await world.open(service, createVolatileMemoryStore(), options);
  const sized = (id: string, length: number) => ({
    ...event(id, `to ${id}`),
    payload: { id, text: 'x'.repeat(length) },
  });
  const events = [...['a', 'b', 'c', 'd'].map((id) => sized(id, 100)), sized('large', 600), sized('e', 100)];
  await Promise.all(events.map((each) => collector.collect(each)));
  await collector.idle();
  await collector.stop();
  assert.deepEqual(service.inits.toSorted(), [['a', 'b'], ['c', 'd'], ['e'], ['large']]);
});

describe('a collector that pays events together', () => {
  const options = { mergeAirdrops: true, maxItems: 1_000, maxAgeMs: 600_000 };

  it('lists at most 900 of them in one payload', async () => {
    const service = world.serve();
    const events = Array.from({ length: 901 }, (_, i) => event(`e${i}`, 'ada'));
    nameEvents(service, events);
    const collector = await world.open(service, createVolatileMemoryStore(), options);
    await Promise.all(events.map((each) => collector.collect(each)));
    await collector.idle();
    await collector.stop();
    assert.equal(service.inits.length, 1);
    assert.equal(service.paid.length, 901);
  });

  it('adds up no amounts whose sum has more digits than an amount may have', async () => {
    const service = world.serve();
    const amounts: unknown[] = [];
    const reading: typeof fetch = (input, init) => {
      if (String(input).endsWith('/init')) {
        const { pipelines } = JSON.parse(String(init?.body)) as InitBatchRequest;
        amounts.push(
          ...pipelines.flatMap(({ actions }) => actions.map((each) => each.action === 'AIRDROP' && each.amount)),
        );
      }
      return service.fetch(input, init);
    };
    const collector = await world.open({ fetch: reading }, createVolatileMemoryStore(), options);
    const asked = [999_999_999_999_999, 0.5];
    await Promise.all(
      asked.map((amount, i) => collector.collect({ ...event(`e${i}`, 'ada'), actions: [airdrop('ada', amount)] })),
    );
    void collector.idle().catch(() => undefined);
    await until(() => amounts.length > 0 || collector.stopped.error !== null);
    await collector.stop();
    assert.deepEqual(amounts, asked);
  });
});

describe('a collector is not created', () => {
  // With one place for batches, or after one failure, no recipient who failed could be tried apart from the others.
  for (const options of [{ maxOpenBatches: 1 }, { maxFailures: 1 }]) {
    const [name = ''] = Object.keys(options);
    it(`with a ${name} of 1`, async () => {
      const creating = world.open(world.serve(), createVolatileMemoryStore(), options);
      await assert.rejects(
        creating,
        (error) => error instanceof RangeError && error.message.startsWith(`${name} is 1;`),
      );
    });
  }

  it('without a word about what the wallet verifies', async () => {
    const wallet = await generateKeyPairSigner();
    for (const approval of [{ wallet }, undefined]) {
      // A caller in JavaScript can leave it out.
      const options = { approval } as unknown as Partial<CollectorOptions>;
      await assert.rejects(
        world.open(world.serve(), createVolatileMemoryStore(), options),
        (error) => error instanceof RangeError && /^approval is missing/.test(error.message),
      );
    }
  });
});

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  await waitUntil('the collector', isTrue, (isSo) => isSo, { intervalMs: 5 });
}

async function isFree(collector: Collector, id: string): Promise<boolean> {
  return (await collector.status(id))?.isInBatch === false;
}

/** Drops an item as soon as it is in no batch. */
async function dropWhenFree(collector: Collector, id: string): Promise<void> {
  await until(async () => {
    try {
      return (await collector.drop(id)).state === 'dropped';
    } catch (error) {
      assert.ok(isFlywheelError(error, 'ERR_ITEM_STATE'), String(error));
      return false;
    }
  });
}
