import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBatch, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { burnPipeline } from '@flywheel/testing/client';
import { type GatedWorld, openGatedWorld } from '@flywheel/testing/gate';
import { createProject } from '@flywheel/testing/project';

let world: GatedWorld;

before(async () => {
  world = await openGatedWorld({ WORKER_MAX_BATCHES: '20' });
});
after(() => world.stop());

test('a batch is set up beside a dozen tenants whose transactions the cluster never reports', async () => {
  const tenants = await Promise.all(Array.from({ length: 12 }, () => createProject(world)));
  const other = await createProject(world);
  const unreported = new Set<string>();
  let isFilling = true;
  world.gate.intercept('getSignatureStatuses', async ({ params }, pass) => {
    const [signatures] = params as [string[]];
    if (isFilling) for (const signature of signatures) unreported.add(signature);
    const { status, body } = await pass();
    const answer = JSON.parse(body);
    answer.result.value = answer.result.value.map((found: unknown, i: number) =>
      unreported.has(signatures[i] ?? '') ? null : found,
    );
    return { status, body: JSON.stringify(answer) };
  });
  await Promise.all(tenants.map((tenant) => openBatch(world, tenant, [burnPipeline()])));
  const sent = world.db.selectFrom('bundles').select('signatures').where('phase', '=', 'setup');
  await waitUntil(
    'the requests for statuses',
    () => sent.execute(),
    (bundles) =>
      bundles.length === tenants.length &&
      bundles.every(({ signatures }) => signatures.every((each) => unreported.has(each))),
  );
  isFilling = false;
  await setUpBatch(world, other, [burnPipeline()]);
  const { open } = await world.db
    .selectFrom('batches')
    .select((eb) => eb.fn.countAll<bigint>().as('open'))
    .where('status', '=', 'AVAILABLE_TO_QUEUE')
    .executeTakeFirstOrThrow();
  assert.equal(open, 12n);
});
