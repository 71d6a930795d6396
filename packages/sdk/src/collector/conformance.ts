import { isFlywheelError } from '../errors.ts';
import type { CollectorStore, ItemProgress, NewItem, StoredItem } from './store.ts';

/** One guarantee that a store must give. */
export interface StoreConformanceTest {
  readonly name: string;
  /** @throws Error that names what the store did wrong. */
  run(): Promise<void>;
}

/**
 * Lists what a store must guarantee, as tests for any runner.
 * @param open opens an empty store; `reopen` opens what was written to it once more, as a process does after a crash. For a
 * store that does not survive its process, it returns the same store.
 *
 * @example
 * for (const { name, run } of storeConformance(openMine)) test(name, run);
 */
export function storeConformance(
  open: () => Promise<{ readonly store: CollectorStore; reopen(): Promise<CollectorStore> }>,
): readonly StoreConformanceTest[] {
  const test = (
    name: string,
    work: (store: CollectorStore, reopen: () => Promise<CollectorStore>) => Promise<void>,
  ): StoreConformanceTest => ({
    name,
    run: async () => {
      const { store, reopen } = await open();
      try {
        await work(store, reopen);
      } finally {
        await store.close();
      }
    },
  });

  return [
    test('add stores new items in order, and leaves known ones as they are', async (store, reopen) => {
      const first = await store.add([item('a'), item('b'), item('a', 'other')]);
      equal(
        first.map(({ id }) => id),
        ['a', 'b', 'a'],
        'the items in the order of the argument',
      );
      const again = await store.add([item('c'), item('b', 'other', 9)]);
      equal(
        again.map(({ content }) => content),
        [contentOf('c'), contentOf('b')],
        'the contents as first stored',
      );
      const stored = await (await reopen()).read({ ids: ['c', 'a', 'b', 'x'] });
      equal(
        stored.map(({ id }) => id),
        ['a', 'b', 'c'],
        'the order of acceptance',
      );
      equal(await store.count(), { accepted: 3, pending: 3, paid: 0, quarantined: 0, dropped: 0 }, 'the counts');
      const [one] = stored;
      equal(one, { ...item('a'), ...PENDING, sequence: one?.sequence }, 'a new item');
    }),

    test('add keeps every character of a content and of an id', async (store, reopen) => {
      const content = `{"payload":"\\u0000 \\ud800 ' \\" \\\\ ${'é漢🙂'.repeat(500)}"}`;
      const id = 'ad’7; drop table "x" -- $1 ?1 🙂';
      await store.add([{ id, content, acceptedAtMs: 1_700_000_000_123 }]);
      const [stored] = await (await reopen()).read({ ids: [id] });
      equal([stored?.content, stored?.acceptedAtMs], [content, 1_700_000_000_123], 'the content and the time');
    }),

    test('concurrent adds of the same items store each once', async (store) => {
      const ids = Array.from({ length: 40 }, (_, i) => `i${i}`);
      await Promise.all([0, 1, 2, 3].map(() => store.add(ids.map((id) => item(id)))));
      equal((await store.count()).accepted, 40, 'the number of accepted items');
      const sequences = (await store.read({ ids })).map(({ sequence }) => sequence);
      equal(new Set(sequences).size, 40, 'the number of different sequences');
    }),

    test('write assigns items to a batch, which reads them in the order of their positions', async (store, reopen) => {
      const epoch = await begin(store);
      const [a, b, c] = await three(store);
      const batch = { key: KEY, lane: 'together', batchId: null, verdict: null, signed: null } as const;
      const assigned = [
        { item: a, to: { batchKey: KEY, position: 1 } },
        { item: c, to: { batchKey: KEY, position: 0 } },
      ];
      await store.write(epoch, { items: assigned, batches: [batch] });
      const after = await reopen();
      equal(
        (await after.read({ batchKey: KEY })).map(({ id }) => id),
        ['c', 'a'],
        'the items of the batch',
      );
      equal(
        (await after.read({ waitingIn: 'together', limit: 9 })).map(({ id }) => id),
        ['b'],
        'the waiting items',
      );
      equal(await after.readBatches(), [batch], 'the open batches');
      const verdict = { items: [{ position: 0, reason: { code: 'X', message: 'y' } }], failed: ['r'], held: [] };
      const signed = { batchId: 'b', multisig: 'm', batchIndex: '18446744073709551615' };
      await store.write(epoch, { batches: [{ ...batch, batchId: 'id', verdict, signed }] });
      equal(await (await reopen()).readBatches(), [{ ...batch, batchId: 'id', verdict, signed }], 'the replaced batch');
      equal((await store.read({ ids: [b.id] }))[0]?.batchKey, null, 'the item beside the batch');
    }),

    test('write ends a batch with all results, and counts them', async (store, reopen) => {
      const epoch = await begin(store);
      const items = await three(store);
      const batch = { key: KEY, lane: 'together', batchId: 'id', verdict: null, signed: null } as const;
      const assigned = items.map((each, position) => ({ item: each, to: { batchKey: KEY, position } }));
      await store.write(epoch, { items: assigned, batches: [batch] });
      const [a, b, c] = threeOf(await store.read({ batchKey: KEY }));
      const reason = { code: 'ERR_X', message: 'It’s "bad".' };
      const ended = { batchKey: null, isReportDue: true };
      await store.write(epoch, {
        items: [
          { item: a, to: { ...ended, state: 'paid', batchId: 'id' } },
          { item: b, to: { ...ended, state: 'quarantined', position: null, reason } },
          { item: c, to: { batchKey: null, position: null, attempts: 1, lane: 'apart' } },
        ],
        endedBatches: [KEY],
        recipients: [
          { address: 'r1', failures: 2 },
          { address: 'r2', failures: 1 },
        ],
      });
      const after = await reopen();
      equal(await after.readBatches(), [], 'the open batches');
      const counts = { accepted: 3, pending: 1, paid: 1, quarantined: 1, dropped: 0 };
      equal(await after.count(), counts, 'the counts');
      const due = await after.read({ reportDue: true, limit: 9 });
      equal(
        due.map(({ id, state }) => [id, state]),
        [
          ['a', 'paid'],
          ['b', 'quarantined'],
        ],
        'the reports',
      );
      equal(due[1]?.reason, reason, 'the reason');
      equal(due[0]?.position, 0, 'the position of the paid item');
      const apart = await after.read({ waitingIn: 'apart', limit: 9 });
      equal(
        apart.map(({ id, attempts, position }) => [id, attempts, position]),
        [['c', 1, null]],
        'the rest',
      );
      const quarantined = await after.read({ state: 'quarantined', after: 0, limit: 9 });
      equal(
        quarantined.map(({ id }) => id),
        ['b'],
        'the quarantined items',
      );
      const later = await after.read({ state: 'quarantined', after: b.sequence, limit: 9 });
      equal(later, [], 'the quarantined items after the last');
      const known = (await after.readRecipients(['r1', 'r3', 'r2'])).toSorted((x, y) => x.failures - y.failures);
      equal(
        known,
        [
          { address: 'r2', failures: 1 },
          { address: 'r1', failures: 2 },
        ],
        'the recipients',
      );
      await store.write(epoch, { recipients: [{ address: 'r1', failures: 0 }] });
      equal(await store.readRecipients(['r1']), [], 'the recipient without failures');
    }),

    test('read finds the paid items of a pipeline that several share', async (store, reopen) => {
      const epoch = await begin(store);
      const items = await three(store);
      const batch = { key: KEY, lane: 'together', batchId: null, verdict: null, signed: null } as const;
      const positions = [1, 0, 1];
      const assigned = items.map((each, i) => ({ item: each, to: { batchKey: KEY, position: positions[i] ?? 0 } }));
      await store.write(epoch, { items: assigned, batches: [batch] });
      const inBatch = threeOf(await store.read({ batchKey: KEY }));
      equal(
        inBatch.map(({ id }) => id),
        ['b', 'a', 'c'],
        'the items by position, then in the order of acceptance',
      );
      const paid = inBatch.map((each) => ({
        item: each,
        to: { state: 'paid', batchKey: null, batchId: 'id' } as const,
      }));
      await store.write(epoch, { items: paid, endedBatches: [KEY] });
      const shared = await (await reopen()).read({
        paidBy: [
          { batchId: 'id', position: 1 },
          { batchId: 'x', position: 0 },
        ],
      });
      equal(
        shared.map(({ id }) => id),
        ['a', 'c'],
        'the items of the pipeline',
      );
    }),

    test('write changes nothing if one of its items is not as it was read', async (store) => {
      const epoch = await begin(store);
      const [a, b] = await three(store);
      await store.write(epoch, { items: [{ item: b, to: { state: 'dropped' } }] });
      const stale = [a, b].map((each) => ({ item: each, to: { batchKey: KEY, position: 0 } }));
      const batch = { key: KEY, lane: 'together', batchId: null, verdict: null, signed: null } as const;
      await rejects(() => store.write(epoch, { items: stale, batches: [batch] }), 'a write with a stale item');
      equal(await store.read({ batchKey: KEY }), [], 'the items of the refused batch');
      equal(await store.readBatches(), [], 'the batches after the refused write');
      equal(await store.count(), { accepted: 3, pending: 2, paid: 0, quarantined: 0, dropped: 1 }, 'the counts');
    }),

    test('write changes nothing if one of its items is in another batch than it was', async (store) => {
      const epoch = await begin(store);
      const [a, b] = await three(store);
      await store.write(epoch, { items: [{ item: b, to: { batchKey: KEY, position: 0 } }] });
      const stale = [a, b].map((each) => ({ item: each, to: { batchKey: OTHER_KEY, position: 0 } }));
      await rejects(() => store.write(epoch, { items: stale }), 'a write with an item that another batch has');
      equal(await store.read({ batchKey: OTHER_KEY }), [], 'the items of the refused batch');
      equal((await store.read({ batchKey: KEY })).length, 1, 'the number of items that its batch keeps');
    }),

    test('a store belongs to the project that it is bound to first', async (store, reopen) => {
      equal(await bind(store, 'vault one'), 'vault one', 'the vault of the first project');
      const other = await reopen();
      equal(await bind(other, 'vault two'), 'vault one', 'the vault that it keeps');
      equal(await bind(store, 'vault one'), 'vault one', 'the vault of the same project');
    }),

    test('of concurrent projects a store keeps one', async (store, reopen) => {
      // One after the other: connections of one process to SQLite cannot wait for each other.
      const others = [await reopen(), await reopen()];
      const kept = await Promise.all([store, ...others].map((each, i) => bind(each, `vault ${i}`)));
      equal(new Set(kept).size, 1, 'the number of different vaults');
    }),

    test('a later claim shuts out earlier writers', async (store, reopen) => {
      const first = await begin(store);
      const [a] = await three(store);
      const other = await reopen();
      const second = await begin(other);
      if (second <= first) throw new Error(`Epoch ${second} follows ${first}.`);
      const drop = { items: [{ item: a, to: { state: 'dropped' } }] } as const;
      const error = await rejects(() => store.write(first, drop), 'a write of the earlier epoch');
      if (!isFlywheelError(error, 'ERR_COLLECTOR_REPLACED')) {
        throw new Error('A write of an earlier epoch must throw ERR_COLLECTOR_REPLACED.', { cause: error });
      }
      equal((await other.read({ ids: ['a'] }))[0]?.state, 'pending', 'the state of the item');
      await other.write(second, drop);
      equal((await other.count()).dropped, 1, 'the number of dropped items');
    }),

    test('a lease keeps others from claiming it until it ends, and a claim without one does not wait', async (store, reopen) => {
      const first = await store.claim(60_000);
      if (first === null) throw new Error('A lease that is free must be given.');
      const other = await reopen();
      equal(await other.claim(60_000), null, 'null while another has the lease');
      await store.write(first, {});
      await store.renew(first, 0);
      const second = await other.claim(60_000);
      if (second === null) throw new Error('A lease that has ended must be given.');
      const error = await rejects(() => store.renew(first, 60_000), 'a renewal of the earlier epoch');
      if (!isFlywheelError(error, 'ERR_COLLECTOR_REPLACED')) throw error;
      await begin(store);
      await rejects(() => other.write(second, {}), 'a write of the epoch that a claim without a lease has replaced');
    }),

    test('read bounds its answer by the limit, oldest first', async (store) => {
      const ids = Array.from({ length: 30 }, (_, i) => `i${i}`);
      await store.add(ids.map((id) => item(id)));
      const found = await store.read({ waitingIn: 'together', limit: 7 });
      equal(
        found.map(({ id }) => id),
        ids.slice(0, 7),
        'the oldest items',
      );
    }),
  ];
}

const KEY = '0198a3c2-7d1e-8c3a-9b1f-2f6f0c6d1e2a';
const OTHER_KEY = '0198a3c2-7d1e-8c3a-9b1f-2f6f0c6d1e2b';

const PENDING: ItemProgress = {
  ...{ state: 'pending', lane: 'together', attempts: 0, batchKey: null, position: null, batchId: null },
  ...{ reason: null, isReportDue: false },
};

function item(id: string, content = contentOf(id), acceptedAtMs = 5): NewItem {
  return { id, content, acceptedAtMs };
}

function contentOf(id: string): string {
  return `{"of":"${id}"}`;
}

async function begin(store: CollectorStore): Promise<number> {
  const epoch = await store.claim();
  if (epoch === null) throw new Error('A claim without a lease must begin an epoch.');
  return epoch;
}

async function bind(store: CollectorStore, vault: string): Promise<string> {
  if (store.bindProject === undefined) {
    throw new Error('The store must have bindProject: without it, a collector of another project pays its events.');
  }
  return store.bindProject(vault);
}

type Three = readonly [StoredItem, StoredItem, StoredItem];

async function three(store: CollectorStore): Promise<Three> {
  return threeOf(await store.add([item('a'), item('b'), item('c')]));
}

function threeOf([a, b, c, ...more]: readonly StoredItem[]): Three {
  if (!a || !b || !c || more.length > 0) throw new Error('The store must return the three items that were asked for.');
  return [a, b, c];
}

function equal(actual: unknown, expected: unknown, what: string): void {
  const [found, wanted] = [actual, expected].map((value) => JSON.stringify(sorted(value)));
  if (found !== wanted) throw new Error(`The store must return ${what}: ${wanted}; it returned ${found}.`);
}

/** A store may build its objects in any order of members. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
}

async function rejects(work: () => Promise<unknown>, what: string): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error(`The store must refuse ${what}.`);
}
