import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitUntil } from '@flywheel/testing/batches';
import { getCurrent } from '@flywheel/testing/client';
import { createProject, requireOk } from '@flywheel/testing/project';
import { type ConsoleWorld, openConsoleWorld } from '@flywheel/testing/world';
import { type App, startApp } from '../../src/app.ts';
import { parseConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';

const CLIENTS = 8;
/** Requests before, between and after the changes. */
const REQUESTS_PER_CLIENT = 5;

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

    const total = () => [...statuses.values()].reduce((sum, count) => sum + count, 0);
    const moreRequests = () => {
      const enough = total() + CLIENTS * REQUESTS_PER_CLIENT;
      return waitUntil(
        'more requests',
        async () => total(),
        (count) => count >= enough,
      );
    };
    await moreRequests();
    const keysPath = `/projects/${project.projectId}/keys`;
    const [{ keyId }] = requireOk(await ask('GET', keysPath, project.cookie)).keys;
    const rotated = requireOk(await ask('POST', `${keysPath}/${keyId}/rotate`, project.cookie, { overlapSeconds: 60 }));
    await moreRequests();
    apiKey = rotated.apiKey;
    await moreRequests();
    isOver = true;
    await Promise.all(clients);
    assert.deepEqual([...statuses.keys()], [200], JSON.stringify([...statuses]));
    process.stdout.write(`# ${total()} requests of ${CLIENTS} clients on two replicas, none refused\n`);

    requireOk(await ask('DELETE', `${keysPath}/${keyId}`, project.cookie));
    for (const url of urls) {
      assert.equal((await getCurrent(url, project.apiKey)).status, 401);
      assert.equal((await getCurrent(url, rotated.apiKey)).status, 200);
    }
  });
});
