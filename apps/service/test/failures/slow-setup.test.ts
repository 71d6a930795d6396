import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instantClock } from '@flywheel/testing/clock';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { newBundle, storeBatch, storeNonces, storeProject } from '@flywheel/testing/records';
import { followBundle } from '../../src/batches/bundles/land.ts';
import type { RunDeps } from '../../src/batches/deps.ts';
import type { Batch, ExecutionIssue } from '../../src/model/batch.ts';
import { findBatch } from '../../src/store/batches/batches.ts';
import { insertBundle } from '../../src/store/batches/bundles.ts';
import { recordHoldUp } from '../../src/store/batches/executions.ts';
import { beginRun } from '../../src/store/batches/runs.ts';

const { db } = await openTestDatabase();
await storeNonces(db, 10);

test('a setup whose bundle has not landed for 15 s says so, as do the batches behind it', async () => {
  const project = await storeProject(db);
  const [batch, next] = [await storeBatch(db, project), await storeBatch(db, project)];
  const bundle = await insertBundle(db, newBundle(batch));
  const clock = instantClock();
  const seen: { readonly atMs: number; readonly reasons: (string | undefined)[] }[] = [];
  const stopped = new Error('The test has seen enough.');
  const deps = {
    db,
    clock,
    log: quietLog,
    run: await beginRun(db, project.flywheel.id, 'setup'),
    signal: new AbortController().signal,
    turn: { pause: <T>(wait: () => Promise<T>) => wait() },
    chain: {
      finalizedBlock: async () => {
        const atMs = clock.now().getTime();
        seen.push({ atMs, reasons: [await reasonOf(batch), await reasonOf(next)] });
        if (atMs > 16_000) throw stopped;
        return { slot: 1n, blockHeight: 1n };
      },
      signatureOutcomes: async () => ({ contextSlot: 1n, outcomes: ['unknown', 'unknown'] }),
    },
    // The other dependencies are those of sending.
  } as unknown as RunDeps;
  await assert.rejects(followBundle(deps, bundle), stopped);
  assert.deepEqual(
    new Set(seen.filter(({ atMs }) => atMs < 15_000).flatMap(({ reasons }) => reasons)),
    new Set([undefined]),
  );
  assert.deepEqual(seen.at(-1)?.reasons, [
    'the cluster has not taken its transactions yet. They are sent again once they can no longer land.',
    `batch ${batch.batchIndex}, which comes before it, is held up. It continues after that one.`,
  ]);
});

test('an issue of a setup is shown on those behind it that are not set up, and on no others', async () => {
  const project = await storeProject(db);
  const [before, batch, behind] = [
    await storeBatch(db, project),
    await storeBatch(db, project),
    await storeBatch(db, project),
  ];
  const elsewhere = await storeBatch(db, await storeProject(db));
  const issue = { code: 'ERR_BATCH_WOULD_FAIL', context: { problems: ['Its record is damaged.'] } } as const;
  await recordHoldUp(db, { lane: 'deciding' }, before.id, issue, new Date());
  assert.deepEqual([await findIssue(before), await findIssue(batch)], [issue, null]);
  await recordHoldUp(db, { lane: 'setup' }, batch.id, issue, new Date());
  assert.deepEqual(await findIssue(batch), issue);
  assert.match((await reasonOf(behind)) ?? '', /which comes before it, is held up/);
  assert.deepEqual([await reasonOf(before), await reasonOf(elsewhere)], [undefined, undefined]);
});

async function findIssue({ id }: Batch): Promise<ExecutionIssue | null | undefined> {
  return (await findBatch(db, id))?.executionError;
}

async function reasonOf(batch: Batch): Promise<string | undefined> {
  return (await findIssue(batch))?.reason;
}
