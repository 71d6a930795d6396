import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { isFlywheelError } from '@flywheel/sdk';
import { type CollectorAlarm, type CollectorStore, createVolatileMemoryStore } from '@flywheel/sdk/collector';
import { openPostgresStore } from '@flywheel/sdk/collector/postgres';
import { openSqliteStore } from '@flywheel/sdk/collector/sqlite';
import { openTestPool } from '@flywheel/testing/postgres';
import { generateKeyPairSigner } from '@solana/kit';
import { BATCH } from '../batches.ts';
import type { FakeService } from './fake-service.ts';
import { type CollectorWorld, event, openCollectorWorld } from './open-collector.ts';

const [OURS, THEIRS] = ['4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi', 'HXtBm8XZbxaTt41uqaKhwUAa6Z1aPyvJdsZVENiWsetg'];

let world: CollectorWorld;
let folder: string;
let pool: Awaited<ReturnType<typeof openTestPool>>;
before(async () => {
  [world, pool] = await Promise.all([openCollectorWorld(), openTestPool()]);
  folder = await mkdtemp(join(tmpdir(), 'flywheel-project-'));
});
after(() => Promise.all([pool.end(), rm(folder, { recursive: true })]));

describe('a store belongs to the project of its first collector', () => {
  for (const [name, open] of [
    ['a SQLite file', () => openSqliteStore(join(folder, 'payments.db'))],
    ['PostgreSQL', () => openPostgresStore(pool, { tablePrefix: 'of_project' })],
  ] as const) {
    it(`${name}: another project is refused and sends nothing, the same one goes on`, async () => {
      const ours = serveProject(OURS);
      const first = await world.open(ours, await open(), { maxAgeMs: 600_000 });
      await first.collect(event('in flight', 'ada'));
      await first.stop();

      const theirs = serveProject(THEIRS);
      const store = await open();
      await assert.rejects(world.open(theirs, store), isOtherProject);
      assert.deepEqual(theirs.inits, []);
      assert.equal((await store.count()).pending, 1);
      await store.close();

      const next = await world.open(ours, await open());
      await next.idle();
      assert.deepEqual(ours.paid, ['in flight']);
      await next.stop();
    });
  }

  it('a start that is refused does not replace the collector that pays', async () => {
    const ours = serveProject(OURS);
    const store = createVolatileMemoryStore();
    const first = await world.open(ours, store);
    await assert.rejects(world.open(serveProject(THEIRS), store), isOtherProject);
    await first.collect(event('a', 'ada'));
    await first.idle();
    assert.deepEqual(ours.paid, ['a']);
    await first.stop();
  });

  it('while the service is down a collector takes events, and it compares the projects before it pays', async () => {
    const store = await storeOf(OURS);
    const theirs = serveProject(THEIRS);
    theirs.onRequest = () => {
      throw new TypeError('fetch failed');
    };
    const alarms: CollectorAlarm[] = [];
    const collector = await world.open(theirs, store, { onAlarm: (alarm) => alarms.push(alarm), maxAgeMs: 600_000 });
    assert.equal((await collector.collect(event('a', 'ada'))).state, 'pending');
    theirs.onRequest = () => undefined;
    await assert.rejects(collector.idle(), (error) => isFlywheelError(error, 'ERR_COLLECTOR_STOPPED'));
    assert.ok(isOtherProject(collector.stopped.error));
    assert.deepEqual([theirs.inits, alarms.map(({ kind }) => kind)], [[], ['stopped']]);
    await collector.stop();
  });

  it('a service older than 0.3 shows the vault with its first batch', async () => {
    const older = serveProject(undefined);
    const store = createVolatileMemoryStore();
    const first = await world.open(older, store);
    await first.collect(event('a', 'ada'));
    await first.idle();
    const second = await world.open(older, store);
    await assert.rejects(
      world.open(serveProject(THEIRS), store),
      (error) =>
        isFlywheelError(error, 'ERR_COLLECTOR_PROJECT') && error.message.includes(`the vault ${BATCH.vaultAddress}, `),
    );
    await Promise.all([first.stop(), second.stop()]);
  });

  it('a service older than 0.3 without a batch leaves the comparison to the vault that is verified, before the claim', async () => {
    const store = await storeOf(OURS);
    const first = await world.open(serveProject(OURS), store);
    const verify = { rpcUrl: 'http://fake', vaultAddress: THEIRS };
    const approval = { wallet: await generateKeyPairSigner(), verify };
    await assert.rejects(world.open(serveProject(undefined), store, { approval }), isOtherProject);
    await first.collect(event('a', 'ada'));
    await first.idle();
    await first.stop();
  });

  it('an API key of another project than the vault that is verified is refused, and the store stays free', async () => {
    const store = createVolatileMemoryStore();
    const verify = { rpcUrl: 'http://fake', vaultAddress: OURS };
    const approval = { wallet: await generateKeyPairSigner(), verify };
    const theirs = serveProject(THEIRS);
    await assert.rejects(world.open(theirs, store, { approval }), isOtherProject);
    const collector = await world.open(theirs, store);
    await collector.collect(event('a', 'ada'));
    await collector.idle();
    assert.deepEqual(theirs.paid, ['a']);
    await collector.stop();
  });

  it('a store that was written before 0.3 works without the protection', async () => {
    const { bindProject: _, ...store } = createVolatileMemoryStore();
    for (const [id, vault] of [
      ['a', OURS],
      ['b', THEIRS],
    ] as const) {
      const service = serveProject(vault);
      const collector = await world.open(service, store);
      await collector.collect(event(id, 'ada'));
      await collector.idle();
      assert.deepEqual(service.paid, [id]);
      await collector.stop();
    }
  });
});

/** A service at which the API key belongs to the project with this vault. */
function serveProject(vaultAddress: string | undefined): FakeService {
  const service = world.serve();
  service.vaultAddress = vaultAddress;
  return service;
}

async function storeOf(vaultAddress: string | undefined): Promise<CollectorStore> {
  const store = createVolatileMemoryStore();
  await (await world.open(serveProject(vaultAddress), store)).stop();
  return store;
}

function isOtherProject(error: unknown): boolean {
  return (
    isFlywheelError(error, 'ERR_COLLECTOR_PROJECT') &&
    [OURS, THEIRS].every((vault) => error.message.includes(`${vault}`))
  );
}
