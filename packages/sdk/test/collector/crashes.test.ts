import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import {
  type CollectedItem,
  type Collector,
  type CollectorStore,
  createVolatileMemoryStore,
  type ItemStatus,
} from '@flywheel/sdk/collector';
import fc from 'fast-check';
import type { FakeService } from './fake-service.ts';
import { BEHAVIOURS, type CollectorWorld, event, nameEvents, openCollectorWorld } from './open-collector.ts';

let world: CollectorWorld;
before(async () => {
  world = await openCollectorWorld();
});

it('a collector pays every good item exactly once, and loses none, wherever it crashes', async () => {
  const recipient = fc.constantFrom('ada', 'bob', 'cyd', 'mint', 'checked', 'hostile', 'hostile2', 'shaky');
  const item = fc.record({ to: recipient, isUnknown: fc.boolean(), repeats: fc.integer({ min: 1, max: 2 }) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(item, { minLength: 1, maxLength: 12 }),
      fc.array(fc.record({ step: fc.integer({ min: 1, max: 25 }), isAfter: fc.boolean() }), { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 6 }),
      fc.integer({ min: 1, max: 6 }),
      fc.boolean(),
      async (items, crashes, lost, maxItems, mergeAirdrops) => {
        const events = items.map(({ to, isUnknown }, i) => ({
          ...event(`e${i}`, to),
          ...(isUnknown && i % 3 === 0 && { type: 'UNKNOWN' }),
        }));
        const service = world.serve((to) => BEHAVIOURS[to]);
        nameEvents(service, events);
        let calls = 0;
        // Requests that never arrive, and answers that never come back.
        service.onRequest = () => {
          calls += 1;
          if (lost.includes(calls)) throw new TypeError('fetch failed');
        };
        const memory = createVolatileMemoryStore();
        for (const crash of [...crashes, null]) {
          const { store, service: dying, crashed } = crashing(memory, service, crash);
          let collector: Collector | undefined;
          const work = async () => {
            collector = await world.open(dying, store, { maxItems, mergeAirdrops });
            const repeated = events.flatMap((each, i) => Array.from({ length: items[i]?.repeats ?? 1 }, () => each));
            await Promise.all(repeated.map((each) => collector?.collect(each)));
            await collector.idle();
          };
          await Promise.race([work(), crashed]);
          // Ends the timers of a process that is dead.
          const stopped = collector?.stop();
          if (crash === null) await stopped;
          await assertIdentity(memory, events.length);
        }
        assert.equal(new Set(service.paid).size, service.paid.length, 'no item is paid twice');
        const isGood = ({ type, actions }: CollectedItem) =>
          type !== 'UNKNOWN' && actions.every((each) => each.action !== 'AIRDROP' || canBePaid(each.toAddress));
        const expected = events.map((each) => [each.id, isGood(each) ? 'paid' : 'quarantined']);
        const stored = await memory.read({ ids: events.map(({ id }) => id) });
        assert.deepEqual(stored.map(({ id, state }) => [id, state]).toSorted(), expected.toSorted());
        const paid = expected.flatMap(([id, state]) => (state === 'paid' ? [id] : []));
        assert.deepEqual(service.paid.toSorted(), paid.toSorted());
      },
    ),
    { numRuns: Number(process.env.FLYWHEEL_SOAK_COLLECTOR_RUNS ?? 25) },
  );
});

function canBePaid(to: string): boolean {
  const behaviour = BEHAVIOURS[to];
  return behaviour === undefined || behaviour === 'failsOnce';
}

interface Crash {
  /** Number of calls of the store and the service that the process makes before it dies. */
  readonly step: number;
  /** True to die after the call has had its effect, before the process hears of it. */
  readonly isAfter: boolean;
}

/** A process that dies at a step: from then on none of its calls returns. */
function crashing(memory: CollectorStore, service: FakeService, crash: Crash | null) {
  let steps = 0;
  let die: () => void = () => undefined;
  let isDead = false;
  const crashed = new Promise<void>((resolve) => {
    die = resolve;
  });
  const never = new Promise<never>(() => undefined);
  async function step<T>(work: () => Promise<T>): Promise<T> {
    if (isDead) return never;
    steps += 1;
    const isLast = steps === crash?.step;
    if (isLast) isDead = true;
    if (!isLast) return work().then((result) => (isDead ? never : result));
    if (crash?.isAfter) await work().catch(() => undefined);
    die();
    return never;
  }
  const store: CollectorStore = {
    bindProject: (vault) => step(async () => memory.bindProject?.(vault) ?? vault),
    claim: (leaseMs) => step(() => memory.claim(leaseMs)),
    renew: (epoch, leaseMs) => step(() => memory.renew(epoch, leaseMs)),
    add: (items) => step(() => memory.add(items)),
    read: (query) => step(() => memory.read(query)),
    readBatches: () => step(() => memory.readBatches()),
    readRecipients: (addresses) => step(() => memory.readRecipients(addresses)),
    count: () => step(() => memory.count()),
    write: (epoch, changes) =>
      step(async () => {
        await memory.write(epoch, changes);
        await assertIdentity(memory);
      }),
    close: async () => undefined,
  };
  return { store, service: { fetch: ((...args) => step(() => service.fetch(...args))) as typeof fetch }, crashed };
}

async function assertIdentity(memory: CollectorStore, maxAccepted = Number.POSITIVE_INFINITY): Promise<void> {
  const { accepted, paid, pending, quarantined, dropped } = await memory.count();
  assert.equal(accepted, paid + pending + quarantined + dropped);
  assert.ok(accepted <= maxAccepted);
  for (const [state, count] of Object.entries({ paid, pending, quarantined, dropped })) {
    const items = await memory.read({ state: state as ItemStatus['state'], after: 0, limit: 1_000 });
    assert.equal(items.length, count, `${state} items`);
  }
}
