import { after, before, describe, it } from 'node:test';
import { setUpBatch } from '@flywheel/testing/batches';
import { burnPipeline } from '@flywheel/testing/client';
import { createProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { type Role, startApp } from '../../src/app.ts';
import { parseConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';

const HTTP_ONLY: ReadonlySet<Role> = new Set(['http']);
const WORKER_ONLY: ReadonlySet<Role> = new Set(['worker']);

describe('a worker that has started', () => {
  let world: World;
  before(async () => {
    world = await openWorld({ LOG_LEVEL: 'fatal' }, { roles: HTTP_ONLY });
  });
  after(() => world.stop());

  it('does its jobs while other parts of its process stop, and not only returns them to the queue', async () => {
    const terminated = new AbortController();
    const config = parseConfig(world.environment);
    const work = await startApp(config, WORKER_ONLY, createLog(config.logLevel), terminated.signal);
    try {
      // `main` does the same with SIGTERM. The worker stops after the answers of HTTP and the attempts of webhooks.
      terminated.abort();
      await setUpBatch(world, await createProject(world), [burnPipeline()]);
    } finally {
      await work.stop();
    }
  });
});
