import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { DAY, later, NOW, storeProject } from '@flywheel/testing/records';
import { readSpending } from '../../src/store/company/overview.ts';
import { closeDb, openDb } from '../../src/store/db.ts';
import { releaseDailyAmounts, reserveDailyAmounts } from '../../src/store/projects/daily-limits.ts';

const { db, poolConfig } = await openTestDatabase();

test('50 simultaneous reservations from two pools under a limit of 20 give exactly 20', async () => {
  const project = await storeProject(db, { dailyLimits: { burnBaseUnits: 200n, airdropBaseUnits: 1_000n } });
  const other = openDb(poolConfig, quietLog);
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      (i % 2 ? db : other)
        .transaction()
        .execute((trx) => reserveDailyAmounts(trx, project, DAY, { burnBaseUnits: 10n, airdropBaseUnits: 1n })),
    ),
  );
  await closeDb(other);
  assert.equal(answers.filter((answer) => answer === null).length, 20);
  for (const answer of answers) assert.ok(answer === null || answer.kind === 'burn');
  assert.deepEqual(await used(project.id), { burned: 200n, airdropped: 20n });
});

test('an exceeded limit is named, with the day’s use', async () => {
  const project = await storeProject(db, { dailyLimits: { burnBaseUnits: 100n, airdropBaseUnits: 100n } });
  await reserveDailyAmounts(db, project, DAY, { burnBaseUnits: 40n, airdropBaseUnits: 70n });
  assert.deepEqual(await reserveDailyAmounts(db, project, DAY, { burnBaseUnits: 61n, airdropBaseUnits: 31n }), {
    kind: 'burn',
    usedBaseUnits: 40n,
  });
  assert.deepEqual(await reserveDailyAmounts(db, project, DAY, { burnBaseUnits: 60n, airdropBaseUnits: 31n }), {
    kind: 'airdrop',
    usedBaseUnits: 70n,
  });
  assert.deepEqual(await used(project.id), { burned: 40n, airdropped: 70n });
});

test('a rejected reservation changes nothing, and leaves the rest of the day unchanged', async () => {
  const project = await storeProject(db);
  await assert.rejects(
    db.transaction().execute(async (trx) => {
      await reserveDailyAmounts(trx, project, DAY, { burnBaseUnits: 5n, airdropBaseUnits: 5n });
      throw new Error('later failure');
    }),
    /later failure/,
  );
  assert.deepEqual(await used(project.id), undefined);
});

test('amounts are exact to the last base unit of u64', async () => {
  const most = 2n ** 64n - 1n;
  const project = await storeProject(db, { dailyLimits: { burnBaseUnits: most, airdropBaseUnits: most } });
  const totals = { burnBaseUnits: most - 1n, airdropBaseUnits: most };
  assert.equal(await reserveDailyAmounts(db, project, DAY, totals), null);
  assert.equal(await reserveDailyAmounts(db, project, DAY, { burnBaseUnits: 1n, airdropBaseUnits: 0n }), null);
  assert.deepEqual(await used(project.id), { burned: most, airdropped: most });
  assert.deepEqual(await reserveDailyAmounts(db, project, DAY, { burnBaseUnits: most, airdropBaseUnits: most }), {
    kind: 'burn',
    usedBaseUnits: most,
  });
});

test('a kind that is not requested passes, even if its limit was lowered below its use', async () => {
  const project = await storeProject(db);
  await reserveDailyAmounts(db, project, DAY, { burnBaseUnits: 50n, airdropBaseUnits: 0n });
  const lowered = { ...project, dailyLimits: { burnBaseUnits: 10n, airdropBaseUnits: 10n } };
  assert.equal(await reserveDailyAmounts(db, lowered, DAY, { burnBaseUnits: 0n, airdropBaseUnits: 10n }), null);
});

test('days and projects are counted separately', async () => {
  const limits = { burnBaseUnits: 10n, airdropBaseUnits: 10n };
  const [one, two] = [await storeProject(db, { dailyLimits: limits }), await storeProject(db, { dailyLimits: limits })];
  assert.equal(await reserveDailyAmounts(db, one, DAY, limits), null);
  assert.equal(await reserveDailyAmounts(db, two, DAY, limits), null);
  assert.equal(await reserveDailyAmounts(db, one, '2026-11-22', limits), null);
});

test('released amounts can be used again, and nothing is released twice', async () => {
  const limits = { burnBaseUnits: 10n, airdropBaseUnits: 30n };
  const project = await storeProject(db, { dailyLimits: limits });
  await reserveDailyAmounts(db, project, DAY, limits);
  await releaseDailyAmounts(db, project.id, DAY, { burnBaseUnits: 3n, airdropBaseUnits: 7n });
  assert.deepEqual(await used(project.id), { burned: 7n, airdropped: 23n });
  await releaseDailyAmounts(db, project.id, DAY, { burnBaseUnits: 7n, airdropBaseUnits: 23n });
  await assert.rejects(releaseDailyAmounts(db, project.id, DAY, limits), /check constraint/);
  assert.equal(await reserveDailyAmounts(db, project, DAY, limits), null);
});

test('the spending of the last days is that of all projects, and of the oldest day the part that is not over', async () => {
  const projects = [await storeProject(db), await storeProject(db)];
  const days = ['2026-11-13', '2026-11-14', '2026-11-15', DAY, '2026-11-22'];
  for (const { id } of projects) {
    const charged = days.map((day, i) => ({ project_id: id, key_id: null, day, lamports: 10n ** BigInt(i) }));
    await db.insertInto('daily_spending').values(charged).execute();
  }
  // It is noon: seven days before, half of the 14th was over.
  assert.equal((await readSpending(db, NOW)).spentLamports, 2n * (5n + 100n + 1_000n));
  assert.equal((await readSpending(db, later(-43_200_000))).spentLamports, 2n * (10n + 100n + 1_000n));
});

function used(projectId: string) {
  return db
    .selectFrom('daily_amounts')
    .select(['burned', 'airdropped'])
    .where('project_id', '=', projectId)
    .where('day', '=', DAY)
    .executeTakeFirst();
}
