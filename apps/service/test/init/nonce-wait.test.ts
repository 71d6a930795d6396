import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { burnPipeline, init } from '@flywheel/testing/client';
import { createProject } from '@flywheel/testing/project';
import { openWorld } from '@flywheel/testing/world';

test('init waits for nonces: 50 at once of one project are all answered 200, beside two busy loops', async () => {
  // Most of them wait for accounts that are created meanwhile.
  const world = await openWorld({ NONCE_POOL_SIZE: '8' });
  const { apiKey } = await createProject(world);
  const loops = [1, 2].map(() => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
  try {
    const answers = await Promise.all(Array.from({ length: 50 }, () => init(world.url, apiKey, [burnPipeline()])));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const nonces = await world.db.selectFrom('nonces').select('batch_id').where('state', '=', 'leased').execute();
    assert.equal(new Set(nonces.map(({ batch_id }) => batch_id)).size, 50);
  } finally {
    for (const loop of loops) loop.kill();
    await world.stop();
  }
});
