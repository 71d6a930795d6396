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

describe('a service whose primary database dies under load', WITH_HAPROXY, () => {
  let [old, standby]: PairedServer[] = [];
  let proxy: HaProxy;
  let world: World;
  const projects: TestProject[] = [];
  const batches: SoakBatch[] = [];
  const { runBatch, errors, assertRetryable } = createRepeatingClient(() => world.url);

  before(async () => {
    old = await createPairedServer('old');
    standby = await createPairedServer('standby');
    await old.start();
    await standby.follow(old);
    await old.query("alter system set synchronous_standby_names = 'standby'", 'select pg_reload_conf()');
    await untilSynchronous(old);
    proxy = await startHaProxy([old, standby]);
    const openDatabase = async () => ({ url: proxy.url, close: async () => undefined });
    world = await openWorld({ LOG_LEVEL: 'silent', METRICS_PORT: '0' }, { openDatabase });
  });
  after(async () => {
    await world?.stop();
    await proxy?.stop();
    await Promise.all([old?.remove(), standby?.remove()]);
  });

  it('loses nothing that it has acknowledged, and answers errors that may be retried', async (test) => {
    const [first, second] = pair();
    for (let i = 0; i < 2; i += 1) {
      projects.push(await createProject(world, { vaultBaseUnits: VAULT_BASE_UNITS, decimals: 6 }));
    }
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
    await second.query('select pg_promote()');
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
    const [first, second] = pair();
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
    await second.query("alter system set synchronous_standby_names = 'old'", 'select pg_reload_conf()');
    await untilSynchronous(second);
    await waitUntil('a standby in the metrics', readMetrics, ({ standbys }) => standbys === 1);
  });

  it('shows that its only standby is dead, and finishes what has waited once it is not waited for', async () => {
    const [first, second] = pair();
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

  function pair(): readonly [PairedServer, PairedServer] {
    assert.ok(old && standby);
    return [old, standby];
  }

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

async function untilSynchronous(primary: PairedServer): Promise<void> {
  const standbys = "select from pg_stat_replication where sync_state = 'sync'";
  await waitUntil(
    'a synchronous standby',
    () => primary.query(standbys),
    ({ length }) => length === 1,
  );
}
