import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitUntil } from '@flywheel/testing/batches';
import { getCurrent, send } from '@flywheel/testing/client';
import { type HaProxy, startHaProxy, WITH_HAPROXY } from '@flywheel/testing/haproxy';
import { createPairedServer, type PairedServer } from '@flywheel/testing/postgres-pair';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { type SoakBatch, VAULT_BASE_UNITS } from '../soak/load.ts';
import { assertExact, awaitRest } from '../soak/soak.ts';
import { createRepeatingClient } from './repeating-client.ts';

const BATCHES = 6;
const REST_SECONDS = 120;

describe('a service with a primary database and two standbys', WITH_HAPROXY, () => {
  let [old, one, other]: PairedServer[] = [];
  /** The primary after the failover, and the standby that is left. */
  let [successor, follower]: PairedServer[] = [];
  let proxy: HaProxy;
  let world: World;
  const projects: TestProject[] = [];
  const batches: SoakBatch[] = [];
  const { runBatch, errors, assertRetryable } = createRepeatingClient(() => world.url);

  before(async () => {
    old = await createPairedServer('old');
    one = await createPairedServer('one');
    other = await createPairedServer('other');
    await old.start();
    await old.query('create role checker login');
    await one.follow(old);
    await other.follow(old);
    await waitForOneOf(old, [one, other]);
    await untilStandbys(old, 2);
    proxy = await startHaProxy([old, one, other]);
    const openDatabase = async () => ({ url: proxy.url, close: async () => undefined });
    world = await openWorld({ LOG_LEVEL: 'silent', METRICS_PORT: '0' }, { openDatabase });
  });
  after(async () => {
    await world?.stop();
    await proxy?.stop();
    await Promise.all([old, one, other].map((server) => server?.remove()));
  });

  it('goes on without an error when a standby dies, and shows it', async () => {
    const third = required(other);
    for (let i = 0; i < 2; i += 1) {
      projects.push(await createProject(world, { vaultBaseUnits: VAULT_BASE_UNITS, decimals: 6 }));
    }
    await waitUntil('both standbys in the metrics', readMetrics, ({ standbys }) => standbys === 2);
    await third.kill();
    batches.push(await runBatch(required(projects[0])));
    await waitUntil('one standby in the metrics', readMetrics, ({ standbys }) => standbys === 1);
    assert.deepEqual([...errors], []);
    await third.start();
    await untilStandbys(required(old), 2);
  });

  it('loses nothing that it has acknowledged when the primary dies under load, and answers errors that may be retried', async (test) => {
    const [first, ...standbys] = [required(old), required(one), required(other)];
    const [project] = projects;
    assert.ok(project);
    const half = Promise.withResolvers<void>();
    const load = Promise.all(
      projects.map(async (each) => {
        for (let i = 0; i < BATCHES / 2; i += 1) {
          batches.push(await runBatch(each));
          half.resolve();
        }
      }),
    );
    await half.promise;
    const path = `/console/api/projects/${project.projectId}`;
    const asked = { headers: { cookie: project.cookie } };
    const limits = { burnLimit: '777', airdropLimit: '778' };
    const { apiKey } = requireOk(await send(world.url, 'POST', `${path}/keys`, { ...asked, body: {} }));
    requireOk(await send(world.url, 'PUT', `${path}/limits`, { ...asked, body: limits }));

    await first.kill();
    const killedMs = performance.now();
    const [second, third] = await promoteOneOf(standbys);
    [successor, follower] = [second, third];
    await waitUntil(
      'an answer',
      () => getCurrent(world.url, apiKey),
      ({ status }) => status === 200,
    );
    test.diagnostic(`the first answer came ${Math.round(performance.now() - killedMs)} ms after the loss`);

    await load;
    await awaitRest(world, REST_SECONDS);
    await assertExact(world, { projects, batches });
    const [stored] = await second.query(
      `select burn_limit::text as burn from projects where id = '${project.projectId}'`,
    );
    assert.deepEqual(stored, { burn: `${limits.burnLimit}000000` });
    test.diagnostic(`errors that were retried: ${JSON.stringify(Object.fromEntries(errors))}`);
    assertRetryable();
  });

  it('is not led back to the old primary, which can acknowledge nothing', async () => {
    const [first, second, third] = [required(old), required(successor), required(follower)];
    await first.start();
    const write = first.query('create table written_after_the_promotion ()').catch((error: Error) => error);
    const waits = "select from pg_stat_activity where wait_event = 'SyncRep'";
    await waitUntil(
      'the wait for a standby',
      () => first.query(waits),
      ({ length }) => length === 1,
    );
    const project = projects[0] ?? assert.fail();
    batches.push(await runBatch(project));
    const count = 'select count(*)::int as count from batches';
    assert.deepEqual(await second.query(count), [{ count: batches.length }]);
    assert.deepEqual(await first.query("select to_regclass('written_after_the_promotion') as name"), [{ name: null }]);
    await first.kill();
    assert.ok((await write) instanceof Error);

    await first.follow(second);
    await waitForOneOf(second, [first, third]);
    await waitUntil('both standbys in the metrics', readMetrics, ({ standbys }) => standbys === 2);
  });

  it('shows that its last standby is dead, and finishes what has waited once it is not waited for', async () => {
    const [first, second, third] = [required(old), required(successor), required(follower)];
    await third.kill();
    await first.kill();
    const project = projects[1] ?? assert.fail();
    const running = runBatch(project);
    const isSeen = ({ standbys, oldestSeconds }: Metrics) => standbys === 0 && oldestSeconds > 1;
    try {
      await waitUntil('a query of a second, and no standby', readMetrics, isSeen);
    } finally {
      // The service cannot stop while its commits wait.
      await second.query('alter system reset synchronous_standby_names', 'select pg_reload_conf()');
    }
    batches.push(await running);
    await awaitRest(world, REST_SECONDS);
    await assertExact(world, { projects, batches });
  });

  async function readMetrics(): Promise<Metrics> {
    assert.ok(world.app.metricsUrl);
    const text = await (await fetch(world.app.metricsUrl)).text();
    const read = (name: string) => Number(new RegExp(`^flywheel_database_${name} (\\S+)$`, 'm').exec(text)?.[1]);
    return { standbys: read('standbys'), oldestSeconds: read('oldest_query_seconds') };
  }
});

interface Metrics {
  readonly standbys: number;
  readonly oldestSeconds: number;
}

/** Lets a commit be acknowledged when one of the standbys has it, whichever is first. */
async function waitForOneOf(primary: PairedServer, standbys: readonly PairedServer[]): Promise<void> {
  const names = `ANY 1 (${standbys.map(({ name }) => name).join(', ')})`;
  await primary.query(`alter system set synchronous_standby_names = '${names}'`, 'select pg_reload_conf()');
}

async function untilStandbys(primary: PairedServer, count: number): Promise<void> {
  await waitUntil(
    `${count} synchronous standbys`,
    () => primary.query("select from pg_stat_replication where sync_state = 'quorum'"),
    ({ length }) => length === count,
  );
}

/**
 * Replaces a lost primary by one of its two standbys. Neither receives from it any more, so it can acknowledge nothing; then
 * the standby that has received more has everything that was acknowledged.
 * @returns the new primary, and the standby that follows it.
 */
async function promoteOneOf(standbys: readonly PairedServer[]): Promise<readonly [PairedServer, PairedServer]> {
  await Promise.all(standbys.map((standby) => standby.receiveFrom(null)));
  const received = new Map<PairedServer, bigint>();
  for (const standby of standbys) received.set(standby, await readReceived(standby));
  const [last, first] = standbys.toSorted((a, b) => ((received.get(a) ?? 0n) < (received.get(b) ?? 0n) ? -1 : 1));
  assert.ok(first && last);
  await waitForOneOf(first, [last]);
  await first.query('select pg_promote()');
  await last.receiveFrom(first);
  return [first, last];
}

/** Reads the position up to which a standby has received the log, once it receives no more. */
async function readReceived(standby: PairedServer): Promise<bigint> {
  const receivers = 'select from pg_stat_wal_receiver';
  await waitUntil(
    'the end of the replication',
    () => standby.query(receivers),
    ({ length }) => length === 0,
  );
  const [row] = await standby.query<{ bytes: string }>(
    "select (greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0')::text as bytes",
  );
  return BigInt(row?.bytes ?? 0);
}

function required<T>(value: T | undefined): T {
  assert.ok(value !== undefined);
  return value;
}
