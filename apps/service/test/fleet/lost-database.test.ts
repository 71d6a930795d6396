import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { waitUntil } from '@flywheel/testing/batches';
import { type Answer, burnPipeline, getCurrent, init, send } from '@flywheel/testing/client';
import { type DatabaseProxy, openDatabaseProxy } from '@flywheel/testing/database-proxy';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { createProject, type TestProject } from '@flywheel/testing/project';
import type { ServiceProcess } from '@flywheel/testing/service-process';
import { createApiKey } from '../../src/projects/api-key.ts';
import { openProcessWorld, type ProcessWorld } from './fleet.ts';

/** The connections that a process has for its requests. */
const CONNECTIONS = 10;
const WAITING = 3;
/** Kubernetes kills a process after this time. */
const KILLED_AFTER_MS = 30_000;

describe('processes whose database is lost', () => {
  let proxy: DatabaseProxy;
  let processes: ProcessWorld;
  let [serve, work]: ServiceProcess[] = [];
  let project: TestProject;
  const logged: string[] = [];

  before(async () => {
    const database = await openTestDatabase();
    proxy = await openDatabaseProxy(database.url);
    const throughProxy = { DATABASE_URL: proxy.url, METRICS_PORT: '0' };
    const options = { openDatabase: async () => database, serve: throughProxy, work: throughProxy };
    processes = await openProcessWorld({}, options);
    const onLogLine = (line: string) => logged.push(line);
    const starting = [processes.start('serve', { onLogLine }), processes.start('work', { onLogLine })];
    [serve, work] = await Promise.all(starting);
    project = await createProject(Object.create(processes.world, { url: { value: urlOfServe() } }));
  });
  after(async () => {
    await processes?.stop();
    await proxy?.stop();
  });

  it('answer when to ask again, and then answer', async () => {
    const read = () => getCurrent(urlOfServe(), project.apiKey);
    proxy.cut();
    const ready = () => send(urlOfServe(), 'GET', '/health/ready');
    const unready = await waitUntil('the check that fails', ready, ({ status }) => status === 503);
    assert.equal(unready.headers.get('retry-after'), '5');
    assertRetryable(await init(urlOfServe(), project.apiKey, [burnPipeline(1)]), 'ERR_BATCH_INIT_FAILED');
    assertRetryable(await read(), 'ERR_BATCH_CURRENT_FAILED');
    proxy.restore();
    assert.equal((await waitUntil('an answer', read, ({ status }) => status === 200)).headers.get('retry-after'), null);
  });

  it('show the queries that wait for a connection', async () => {
    proxy.fallSilent();
    // They are answered by the end of the process. Those of one key would go together.
    const keys = Array.from({ length: CONNECTIONS + WAITING }, () => createApiKey(randomBytes(32)).apiKey);
    for (const key of keys) getCurrent(urlOfServe(), key).catch(() => undefined);
    const metricsUrl = serve?.metricsUrl ?? assert.fail();
    const read = async () => (await fetch(metricsUrl)).text();
    await waitUntil(
      'the queries that wait',
      read,
      (text) => Number(/^flywheel_database_queries_waiting (\d+)$/m.exec(text)?.[1]) >= WAITING,
    );
  });

  it('end in time, and say what has not stopped', async () => {
    const startedMs = performance.now();
    assert.deepEqual(await Promise.all([serve?.stop(), work?.stop()]), [1, 1]);
    assert.ok(performance.now() - startedMs < KILLED_AFTER_MS);
    const left = logged.flatMap((line) => JSON.parse(line).parts ?? []);
    assert.ok(left.includes('database') && left.includes('worker') && left.includes('queue of serve'), String(left));
  });

  function urlOfServe(): string {
    return serve?.url ?? assert.fail('Nothing serves.');
  }
});

function assertRetryable({ status, body, headers }: Answer, code: string): void {
  assert.deepEqual([status, body.error, headers.get('retry-after')], [500, code, '5']);
}
