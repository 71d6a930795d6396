import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCurrent } from '@flywheel/testing/client';
import { createProject, requireOk } from '@flywheel/testing/project';
import { type ConsoleWorld, openConsoleWorld } from '@flywheel/testing/world';
import { type App, startApp } from '../../src/app.ts';
import { parseConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';

const CLIENTS = 8;
/** Each client runs for this long before, between and after. */
const STRETCH_MS = 400;

describe('a key in use', () => {
  let console: ConsoleWorld;
  let replica: App;
  before(async () => {
    console = await openConsoleWorld();
    const config = parseConfig(console.world.environment);
    replica = await startApp(config, new Set(['http']), createLog('error'));
  });
  after(async () => {
    await replica.stop();
    await console.world.stop();
  });

  it('works on every replica during its rotation, and on none as soon as it is revoked', async () => {
    const { world, ask } = console;
    const project = await createProject(world);
    const urls = [world.url, replica.url ?? ''];
    const statuses = new Map<number, number>();
    let apiKey = project.apiKey;
    let isOver = false;
    const client = async (url: string) => {
      while (!isOver) {
        const { status } = await getCurrent(url, apiKey);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    const clients = Array.from({ length: CLIENTS }, (_, i) => client(urls[i % urls.length] ?? ''));

    await sleep(STRETCH_MS);
    const keysPath = `/projects/${project.projectId}/keys`;
    const [{ keyId }] = requireOk(await ask('GET', keysPath, project.cookie)).keys;
    const rotated = requireOk(await ask('POST', `${keysPath}/${keyId}/rotate`, project.cookie, { overlapSeconds: 60 }));
    await sleep(STRETCH_MS);
    apiKey = rotated.apiKey;
    await sleep(STRETCH_MS);
    isOver = true;
    await Promise.all(clients);
    const answered = statuses.get(200) ?? 0;
    assert.deepEqual([...statuses.keys()], [200], JSON.stringify([...statuses]));
    assert.ok(answered > 10 * CLIENTS, `only ${answered} requests`);
    process.stdout.write(`# ${answered} requests of ${CLIENTS} clients on two replicas, none refused\n`);

    requireOk(await ask('DELETE', `${keysPath}/${keyId}`, project.cookie));
    for (const url of urls) {
      assert.equal((await getCurrent(url, project.apiKey)).status, 401);
      assert.equal((await getCurrent(url, rotated.apiKey)).status, 200);
    }
  });
});
