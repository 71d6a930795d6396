import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { type CollectorStore, createVolatileMemoryStore, type NewItem } from '@flywheel/sdk/collector';
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

  it('opens a file of 0.2, which knows no project, and keeps its items', async () => {
    const path = join(folder, 'of-0.2.db');
    const written = await openSqliteStore(path);
    await written.add([ITEM]);
    await written.close();
    const file = new DatabaseSync(path);
    file.exec('drop table flywheel_collector_project');
    file.close();
    const store = await openSqliteStore(path);
    assert.equal(await store.bindProject?.('vault'), 'vault');
    assert.equal((await store.count()).accepted, 1);
    await store.close();
  });

  it('says that the disk is full, and goes on when it is not', async (t) => {
    const { exec } = DatabaseSync.prototype;
    let database: DatabaseSync | undefined;
    t.mock.method(DatabaseSync.prototype, 'exec', function (this: DatabaseSync, sql: string) {
      database = this;
      exec.call(this, sql);
    });
    const store = await openSqliteStore(join(folder, 'full.db'));
    const epoch = (await store.claim()) ?? 0;
    const key = 'k'.repeat(1_000_000);
    const batches = [{ key, lane: 'together', batchId: null, verdict: null, signed: null }] as const;
    database?.exec('pragma max_page_count = 100');
    await assert.rejects(store.write(epoch, { batches }), /disk is full/);
    database?.exec('pragma max_page_count = 10000');
    await store.write(epoch, { batches });
    assert.deepEqual(await store.readBatches(), batches);
    await store.close();
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

  it('opens tables of 0.2, which know no project, from several processes at once, and keeps their items', async () => {
    const open = () => openPostgresStore(pool, { tablePrefix: 'of_0_2' });
    await (await open()).add([ITEM]);
    await pool.query('drop table of_0_2_project');
    const stores = await Promise.all([open(), open(), open()]);
    const kept = await Promise.all(stores.map((store, i) => store.bindProject?.(`vault ${i}`)));
    assert.equal(new Set(kept).size, 1);
    assert.equal((await stores[0]?.count())?.accepted, 1);
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

const ITEM: NewItem = { id: 'a', content: '{}', acceptedAtMs: 1 };

function conform(open: Parameters<typeof storeConformance>[0]): void {
  for (const { name, run } of storeConformance(open)) it(name, run);
}
