import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  isCursorOfShards,
  type PageOfShards,
  readPageOfShards,
  SHARD_HEADER,
  type ShardHeaders,
} from '../src/index.ts';

interface Entry {
  readonly id: string;
  readonly at: string;
}

type Shards = readonly { entries: readonly Entry[]; isDown?: boolean }[];

const START_MS = Date.parse('2026-11-26T00:00:00.000Z');

/** The log of a shard, newest first. @param times seconds, in any order; the ids are in another one. */
function logOf(times: readonly number[]): Entry[] {
  const entries = times.map((seconds, index) => ({
    id: String(index + 1),
    at: new Date(START_MS + seconds * 1_000).toISOString(),
  }));
  return entries.toSorted((a, b) => b.at.localeCompare(a.at) || Number(b.id) - Number(a.id));
}

/** Pages as the service has them: a cursor names the last entry of the page before. */
function serve(shards: Shards, pageSize: number, first = 1) {
  const asked: [shard: number, cursor: string | undefined][] = [];
  const ask = async ({ [SHARD_HEADER]: named = String(first) }: ShardHeaders, cursor: string | undefined) => {
    const shard = Number(named);
    asked.push([shard, cursor]);
    const place = `${shard} of ${shards.length}`;
    const { entries = [], isDown = false } = shards[shard - 1] ?? {};
    if (isDown) throw Object.assign(new Error(`Shard ${shard} is down.`), { shard: place });
    const from = cursor === undefined ? 0 : entries.findIndex(({ id }) => `e${id}` === cursor) + 1;
    const page = entries.slice(from, from + pageSize);
    const nextCursor = from + pageSize < entries.length ? `e${page.at(-1)?.id}` : undefined;
    const headers = shards.length > 1 ? { [SHARD_HEADER]: place } : {};
    return { headers, body: { entries: page, ...(nextCursor !== undefined && { nextCursor }) } };
  };
  return { ask, asked };
}

async function readAll(
  ask: ReturnType<typeof serve>['ask'],
  { limit, onPage }: { readonly limit: number; readonly onPage?: (page: PageOfShards<Entry>) => void },
): Promise<PageOfShards<Entry>['entries']> {
  const entries: PageOfShards<Entry>['entries'][number][] = [];
  let cursor: string | undefined;
  do {
    const page = await readPageOfShards(ask, { limit, ...(cursor !== undefined && { cursor }) });
    assert.ok(page.nextCursor === undefined || page.entries.length === limit, 'only the last page is shorter');
    entries.push(...page.entries);
    onPage?.(page);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return entries;
}

/** The log of all shards, without pages. */
function merge(shards: Shards) {
  return shards
    .flatMap(({ entries }, index) => entries.map((entry) => ({ ...entry, shard: index + 1 })))
    .toSorted((a, b) => b.at.localeCompare(a.at) || a.shard - b.shard || Number(b.id) - Number(a.id));
}

const times = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 30 });

describe('readPageOfShards', () => {
  it('has each entry of every shard once, newest first, for pages of any size', async () => {
    const cases = fc.record({
      logs: fc.array(times, { minLength: 2, maxLength: 4 }),
      pageSize: fc.integer({ min: 1, max: 7 }),
      limit: fc.integer({ min: 1, max: 7 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ logs, pageSize, limit }) => {
        const shards = logs.map((log) => ({ entries: logOf(log) }));
        const { ask } = serve(shards, pageSize);
        assert.deepEqual(await readAll(ask, { limit }), merge(shards));
      }),
    );
  });

  it('does not repeat or skip entries when new ones arrive between two pages', async () => {
    await fc.assert(
      fc.asyncProperty(times, times, fc.integer({ min: 1, max: 5 }), async (one, two, size) => {
        const shards = [{ entries: logOf(one) }, { entries: logOf(two) }];
        const before = merge(shards);
        const { ask } = serve(shards, size);
        let arrived = 0;
        const onPage = () => {
          for (const shard of shards) {
            arrived += 1;
            const entry = { id: String(1_000 + arrived), at: new Date(START_MS + 3_600_000 + arrived).toISOString() };
            shard.entries = [entry, ...shard.entries];
          }
        };
        assert.deepEqual(await readAll(ask, { limit: 4, onPage }), before);
      }),
    );
  });

  it('reads on in one shard before it shows an older entry of another one', async () => {
    // The first page of the second shard is older than all that the first has.
    const { ask, asked } = serve([{ entries: logOf([90, 80, 70, 60]) }, { entries: logOf([50, 40, 30]) }], 2);
    const page = await readPageOfShards(ask, { limit: 5 });
    assert.deepEqual(
      page.entries.map(({ shard }) => shard),
      [1, 1, 1, 1, 2],
    );
    assert.deepEqual(asked, [
      [1, undefined],
      [2, undefined],
      [1, 'e2'],
    ]);
  });

  it('names a shard that does not answer in each page, and has its entries when it answers again', async () => {
    const shards = [{ entries: logOf([9, 7, 5, 3]) }, { entries: logOf([8, 6, 4, 2]), isDown: true }];
    const { ask } = serve(shards, 2);
    const first = await readPageOfShards(ask, { limit: 2 });
    assert.deepEqual([first.entries.map(({ shard }) => shard), first.missing.map(({ shard }) => shard)], [[1, 1], [2]]);
    const [, second] = shards;
    if (second) second.isDown = false;
    const next = await readPageOfShards(ask, { limit: 9, cursor: first.nextCursor });
    // Those of the second shard that belong into the first page are not shown below it.
    assert.deepEqual(
      next.entries.map(({ at, shard }) => [new Date(at).getSeconds(), shard]),
      [
        [6, 2],
        [5, 1],
        [4, 2],
        [3, 1],
        [2, 2],
      ],
    );
    assert.deepEqual([next.missing, next.nextCursor], [[], undefined]);
  });

  it('shows what the others have if a shard fails within a page', async () => {
    const shards = [{ entries: logOf([9, 7, 5, 3]) }, { entries: logOf([8, 6, 4, 2]) }];
    const { ask } = serve(shards, 1);
    const failing: typeof ask = async (headers, cursor) => {
      if (headers[SHARD_HEADER] === '2' && cursor !== undefined) throw new Error('It does not answer.');
      return ask(headers, cursor);
    };
    const { entries, missing } = await readPageOfShards(failing, { limit: 4 });
    assert.deepEqual(
      entries.map(({ shard }) => shard),
      [1, 2, 1, 1],
    );
    assert.deepEqual(
      missing.map(({ shard }) => shard),
      [2],
    );
  });

  it('passes pages and cursors of a service without shards on', async () => {
    const { ask, asked } = serve([{ entries: logOf([3, 2, 1]) }], 2);
    const first = await readPageOfShards(ask, { limit: 2 });
    assert.deepEqual([first.nextCursor, first.count, isCursorOfShards('e2')], ['e2', 1, false]);
    const { entries, nextCursor } = await readPageOfShards(ask, { limit: 2, cursor: first.nextCursor });
    assert.deepEqual([entries.map(({ id }) => id), nextCursor], [['3'], undefined]);
    assert.deepEqual(asked, [
      [1, undefined],
      [1, 'e2'],
    ]);
  });

  it('reads only the shards that the caller names', async () => {
    const { ask, asked } = serve([{ entries: logOf([2]) }, { entries: logOf([1]) }, { entries: logOf([3]) }], 2);
    const { entries } = await readPageOfShards(ask, { limit: 1, shards: [1, 3] });
    assert.deepEqual(entries, [{ ...logOf([3])[0], shard: 3 }]);
    assert.deepEqual(
      asked.map(([shard]) => shard),
      [1, 3],
    );
  });

  it('refuses the cursor of one shard if there are several, and throws the first error if none answers', async () => {
    const { ask } = serve([{ entries: logOf([2]) }, { entries: logOf([1]) }], 2);
    await assert.rejects(readPageOfShards(ask, { limit: 1, cursor: 'e2' }), /The cursor e2 is not of the log/);
    const down = serve(
      [
        { entries: [], isDown: true },
        { entries: [], isDown: true },
      ],
      2,
    );
    await assert.rejects(readPageOfShards(down.ask, { limit: 1 }), /Shard 1 is down/);
    const cursor = '2026-11-26T00:00:00.000Z,1,1,,';
    await assert.rejects(readPageOfShards(down.ask, { limit: 1, cursor }), /Shard 1 is down/);
  });
});
