import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { CollectorStore } from '@flywheel/sdk/collector';
import { openPostgresStore } from '@flywheel/sdk/collector/postgres';
import { waitUntil } from '@flywheel/testing/batches';
import { openTestPool } from '@flywheel/testing/postgres';
import type { FakeService } from './fake-service.ts';
import { type CollectorWorld, event, openCollectorWorld } from './open-collector.ts';

let world: CollectorWorld;
let pool: Awaited<ReturnType<typeof openTestPool>>;
before(async () => {
  [world, pool] = await Promise.all([openCollectorWorld(), openTestPool()]);
});
after(() => pool.end());

const SHARED = { leaseMs: 1_000, maxItems: 5 };

it('collectors that share a store pay each event once, also when the one that pays stands still and comes back', async () => {
  const service = world.serve();
  const reported: string[] = [];
  const options = { ...SHARED, onPaid: ({ id }: { readonly id: string }) => reported.push(id) };
  const frozen = freezable(service, await openStore(), 'after');
  const first = await world.open(frozen.service, frozen.store, options);
  const openTwo = () => Promise.all([0, 1].map(async () => world.open(service, await openStore(), options)));
  const others = await openTwo();
  const all = [first, ...others];
  const ids = Array.from({ length: 12 }, (_, i) => `e${i}`);
  await Promise.all(
    all.map((each, i) => Promise.all((i === 1 ? ids.toReversed() : ids).map((id) => each.collect(event(id, 'ada'))))),
  );
  await others[0]?.idle();
  assert.deepEqual(service.paid.toSorted(), ids.toSorted());

  // On a busy machine any of them may hold the lease. Now the first one gets it.
  await Promise.all(others.map((each) => each.stop()));
  // The process stands still after init has answered, with its lease and a batch to sign.
  frozen.arm();
  const later = Array.from({ length: 7 }, (_, i) => `later${i}`);
  const collected = Promise.all(later.map((id) => first.collect(event(id, 'bob'))));
  await frozen.isFrozen;
  const successors = await openTwo();
  await successors[0]?.idle();
  assert.deepEqual(service.paid.toSorted(), [...ids, ...later].toSorted());

  frozen.thaw();
  await collected;
  await successors[1]?.collect(event('last', 'ada'));
  await first.idle();
  assert.equal(new Set(service.paid).size, service.paid.length, 'nothing is paid twice');
  assert.equal(service.paid.length, 20);
  assert.equal(new Set(reported).size, 20);
  assert.equal(first.stopped.error, null, 'it collects and may pay again');
  await Promise.all([first, ...successors].map((each) => each.stop()));
});

it('a collector that stood still before init does not sign what another has divided meanwhile', async () => {
  const service = world.serve();
  const open = () => openPostgresStore(pool, { tablePrefix: 'divided' });
  const frozen = freezable(service, await open(), 'before');
  frozen.arm();
  // All in one batch, however slowly they are stored.
  const first = await world.open(frozen.service, frozen.store, { ...SHARED, maxAgeMs: 600_000 });
  const ids = ['a', 'b', 'c', 'd', 'e'];
  await Promise.all(ids.map((id) => first.collect(event(id, 'ada'))));
  await frozen.isFrozen;
  service.limit = 3;
  // Longer than any pause of this machine: the first one must not get the lease back.
  const second = await world.open(service, await open(), { ...SHARED, leaseMs: 600_000 });
  await second.idle();
  assert.deepEqual(service.paid.toSorted(), ids);
  const { length } = service.inits;
  assert.ok(length > 1);
  service.limit = Number.POSITIVE_INFINITY;
  frozen.thaw();
  await waitUntil(
    'the batch of all',
    async () => service.inits,
    (inits) => inits.length > length,
  );
  assert.deepEqual(service.inits.at(-1), ids, 'the earlier request has created its batch');
  // The next claim of the process shows that its term has ended.
  await frozen.hasClaimed();
  assert.deepEqual(service.paid.toSorted(), ids, 'and nothing of it was signed');
  assert.equal(first.stopped.error, null);
  await Promise.all([first.stop(), second.stop()]);
});

it('a collector that stood still before it read its batch pays nothing of what another has made of it, and goes on', async () => {
  const service = world.serve();
  const open = () => openPostgresStore(pool, { tablePrefix: 'read_late' });
  const frozen = freezable(service, await open(), 'read');
  frozen.arm();
  const first = await world.open(frozen.service, frozen.store, { ...SHARED, maxAgeMs: 600_000 });
  const ids = ['a', 'b', 'c', 'd', 'e'];
  await Promise.all(ids.map((id) => first.collect(event(id, 'ada'))));
  await frozen.isFrozen;
  const second = await world.open(service, await open(), { ...SHARED, leaseMs: 600_000 });
  await second.idle();
  const hasClaimed = frozen.hasClaimed();
  frozen.thaw();
  await hasClaimed;
  assert.equal(first.stopped.error, null);
  assert.deepEqual(service.inits, [ids]);
  assert.deepEqual(service.paid.toSorted(), ids);
  await Promise.all([first.stop(), second.stop()]);
});

it('a collector opens its store while another one writes to it', async () => {
  const options = { tablePrefix: 'written_to' };
  await openPostgresStore(pool, options);
  const writer = await pool.connect();
  try {
    await writer.query('begin');
    await writer.query('update written_to_counts set n = n');
    await writer.query('update written_to_items set attempts = attempts');
    const connect = async () => {
      const client = await pool.connect();
      await client.query(`set lock_timeout = '5s'`);
      return client;
    };
    const store = await openPostgresStore({ query: (text, values) => pool.query(text, values), connect }, options);
    assert.equal((await store.count()).accepted, 0);
  } finally {
    await writer.query('rollback');
    writer.release();
  }
});

it('a collector that stops gives its lease to another at once', async () => {
  const service = world.serve();
  const open = async () =>
    world.open(service, await openPostgresStore(pool, { tablePrefix: 'handed' }), { ...SHARED, leaseMs: 600_000 });
  const first = await open();
  await first.collect(event('a', 'ada'));
  await first.idle();
  await first.stop();
  const second = await open();
  await second.collect(event('b', 'ada'));
  await second.idle();
  assert.deepEqual(service.paid, ['a', 'b']);
  await assert.rejects(async () => second.results().next(), /onPaid and onRejected/);
  await second.stop();
});

function openStore(): Promise<CollectorStore> {
  return openPostgresStore(pool, { tablePrefix: 'shared_by_many' });
}

/** A process can stand still before it reads a batch, before its next init, or after it. */
type Moment = 'read' | 'before' | 'after';

/** A process that can stand still once: none of its calls goes on until it thaws. */
function freezable(service: FakeService, store: CollectorStore, when: Moment) {
  let gate: Promise<void> = Promise.resolve();
  let thaw: () => void = () => undefined;
  const { promise: isFrozen, resolve: noteFrozen } = Promise.withResolvers<void>();
  let isArmed = false;
  let noteClaim: () => void = () => undefined;
  const wait = async <T>(work: Promise<T>): Promise<T> => {
    const result = await work;
    await gate;
    return result;
  };
  function freezeAt(moment: Moment, isReached: boolean): void {
    if (!isArmed || moment !== when || !isReached) return;
    isArmed = false;
    gate = new Promise((resolve) => {
      thaw = resolve;
    });
    noteFrozen();
  }
  const held: CollectorStore = {
    claim: (leaseMs) => {
      noteClaim();
      return wait(store.claim(leaseMs));
    },
    renew: async (epoch, leaseMs) => {
      await gate;
      return store.renew(epoch, leaseMs);
    },
    add: (items) => wait(store.add(items)),
    read: async (query) => {
      freezeAt('read', 'batchKey' in query);
      await gate;
      return wait(store.read(query));
    },
    readBatches: () => wait(store.readBatches()),
    readRecipients: (addresses) => wait(store.readRecipients(addresses)),
    count: () => wait(store.count()),
    write: async (epoch, changes) => {
      await gate;
      return store.write(epoch, changes);
    },
    close: () => store.close(),
  };
  return {
    store: held,
    service: {
      fetch: (async (...asked) => {
        const isInit = String(asked[0]).endsWith('/init');
        freezeAt('before', isInit);
        await gate;
        const answer = await service.fetch(...asked);
        freezeAt('after', isInit);
        await gate;
        return answer;
      }) as typeof fetch,
    },
    isFrozen,
    arm: () => {
      isArmed = true;
    },
    hasClaimed: () =>
      new Promise<void>((resolve) => {
        noteClaim = resolve;
      }),
    thaw: () => thaw(),
  };
}
