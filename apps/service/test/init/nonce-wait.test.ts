import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { assertError } from '@flywheel/testing/batches';
import { burnPipeline, init } from '@flywheel/testing/client';
import { createProject, requireOk } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { address } from '@solana/kit';
import { insertAdmission } from '../../src/store/company/changes.ts';

/** Nonces that all projects share: more than the first test leases. */
const SHARED = 56;
const BURST = 50;

let world: World;

before(async () => {
  // Most inits of the burst wait for accounts that are created meanwhile.
  world = await openWorld({ NONCE_POOL_SIZE: '8', NONCE_POOL_MAX: String(SHARED), LOG_LEVEL: 'fatal' });
});
after(() => world.stop());

test('init waits for nonces: 50 at once of one project are all answered 200, beside two busy loops', async () => {
  const { apiKey } = await createProject(world);
  const loops = [1, 2].map(() => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
  try {
    const answers = await Promise.all(Array.from({ length: BURST }, () => init(world.url, apiKey, [burnPipeline()])));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const nonces = await world.db.selectFrom('nonces').select('batch_id').where('state', '=', 'leased').execute();
    assert.equal(new Set(nonces.map(({ batch_id }) => batch_id)).size, BURST);
  } finally {
    for (const loop of loops) loop.kill();
  }
});

test('init of an admitted project finds nonces while the others hold all that they can, and get 503', async () => {
  const [admitted, ...others] = await Promise.all(Array.from({ length: 4 }, () => createProject(world)));
  assert.ok(admitted);
  const multisig = address(admitted.multisig);
  await insertAdmission(world.db, multisig, new Date());
  const answers = await Promise.all(
    // Several more than are left. A refill beside leases may create one or two too many.
    Array.from({ length: SHARED - BURST + 6 }, (_, i) =>
      init(world.url, others[i % others.length]?.apiKey ?? '', [burnPipeline()]),
    ),
  );
  const refused = answers.filter(({ status }) => status !== 200);
  assert.ok(refused.length > 0);
  for (const answer of refused) {
    assertError(answer, 503, 'ERR_NONCE_POOL_EMPTY');
    assert.equal(answer.headers.get('retry-after'), '5');
  }
  const { batch } = requireOk(await init(world.url, admitted.apiKey, [burnPipeline()]));
  const { share } = await world.db
    .selectFrom('nonces')
    .select('share')
    .where('batch_id', '=', batch.id)
    .executeTakeFirstOrThrow();
  assert.equal(share, multisig);
});
