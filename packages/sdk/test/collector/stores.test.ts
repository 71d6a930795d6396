import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type CollectorStore, createVolatileMemoryStore } from '@flywheel/sdk/collector';
import { storeConformance } from '@flywheel/sdk/collector/conformance';
import { openPostgresStore } from '@flywheel/sdk/collector/postgres';
import { openSqliteStore } from '@flywheel/sdk/collector/sqlite';
import { openTestPool } from '@flywheel/testing/postgres';

describe('the volatile memory store', () => {
  conform(async () => {
    const store = createVolatileMemoryStore();
    return { store, reopen: async () => store };
  });
});

describe('the SQLite store', () => {
  let folder: string;
  let files = 0;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'flywheel-collector-'));
  });
  after(() => rm(folder, { recursive: true }));

  conform(async () => {
    files += 1;
    const path = join(folder, `${files}.db`);
    const opened: CollectorStore[] = [];
    const reopen = async () => {
      const store = await openSqliteStore(path);
      opened.push(store);
      return store;
    };
    const store = await reopen();
    return {
      store: { ...store, close: async () => void (await Promise.all(opened.map((each) => each.close()))) },
      reopen,
    };
  });
});

describe('the PostgreSQL store', () => {
  let pool: Awaited<ReturnType<typeof openTestPool>>;
  let prefixes = 0;
  before(async () => {
    pool = await openTestPool();
  });
  after(() => pool.end());

  conform(async () => {
    prefixes += 1;
    const reopen = () => openPostgresStore(pool, { tablePrefix: `collector_${prefixes}` });
    return { store: await reopen(), reopen };
  });

  it('opens the same tables from several processes at once', async () => {
    const open = () => openPostgresStore(pool, { tablePrefix: 'shared' });
    const stores = await Promise.all([open(), open(), open(), open()]);
    await Promise.all(stores.map((store, i) => store.add([{ id: `${i}`, content: '{}', acceptedAtMs: 1 }])));
    assert.equal((await stores[0]?.count())?.accepted, 4);
  });

  it('takes the same items from several processes in opposite orders', async () => {
    const open = () => openPostgresStore(pool, { tablePrefix: 'opposite' });
    const [one, other] = [await open(), await open()];
    const items = Array.from({ length: 200 }, (_, i) => ({ id: `${i}`, content: '{}', acceptedAtMs: 1 }));
    for (let round = 0; round < 5; round += 1) {
      const some = items.slice(round * 40, round * 40 + 40);
      await Promise.all([one.add(some), other.add(some.toReversed())]);
    }
    assert.equal((await one.count()).accepted, 200);
  });

  it('refuses a prefix that is no name', async () => {
    await assert.rejects(openPostgresStore(pool, { tablePrefix: 'a; drop table x' }), /tablePrefix/);
  });
});

function conform(open: Parameters<typeof storeConformance>[0]): void {
  for (const { name, run } of storeConformance(open)) it(name, run);
}
