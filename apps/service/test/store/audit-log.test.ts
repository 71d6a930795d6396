import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabaseProxy } from '@flywheel/testing/database-proxy';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { later, randomAddress, storeProject } from '@flywheel/testing/records';
import { readHistory } from '../../src/projects/history.ts';
import { findAuditEntries, findAuditValues, insertAuditEntry } from '../../src/store/audit.ts';
import { type Db, openDb, ping } from '../../src/store/db.ts';

const { db, url } = await openTestDatabase();

test('a page of the audit log reads only the values that it has room for', async (context) => {
  const { id: projectId } = await storeProject(db);
  const size = 300_000;
  await write(projectId, ...Array<string>(6).fill('x'.repeat(size)));
  const proxy = await openDatabaseProxy(url);
  context.after(() => proxy.stop());
  const throughProxy = openDb({ connectionString: proxy.url }, quietLog);
  await ping(throughProxy);
  const { bytes } = proxy.counts();
  assert.deepEqual(await readPages(throughProxy, projectId), [1, 1, 1, 1, 1, 1]);
  assert.ok(proxy.counts().bytes - bytes < 7 * size, `${proxy.counts().bytes - bytes} bytes`);
});

test('a page of the audit log has an entry that is larger than a page alone', async () => {
  const { id: projectId } = await storeProject(db);
  await write(projectId, 'a', 'x'.repeat(600_000), 'b', 'c', 'd', 'e', 'f', 'g');
  assert.deepEqual(await readPages(db, projectId), [6, 1, 1]);
});

test('values of the audit log are those that were written, and null for an entry that has left', async () => {
  const { id: projectId } = await storeProject(db);
  await write(projectId, 'é', 'b');
  const [b, é] = (await findAuditEntries(db, { projectId, below: null, limit: 2 })).map(({ id }) => id);
  assert.ok(b !== undefined && é !== undefined);
  const room = { bytes: 1_000, isOneNeeded: false };
  assert.deepEqual(await findAuditValues(db, [é, 0n, b], room), [
    { before: null, after: { value: 'é' }, bytes: 15 },
    { before: null, after: null, bytes: 15 },
    { before: null, after: { value: 'b' }, bytes: 29 },
  ]);
});

/** Writes an entry for each value, the last one newest. */
async function write(projectId: string, ...values: readonly string[]): Promise<void> {
  for (const [i, value] of values.entries()) {
    const entry = { actor: randomAddress(), action: 'limits.changed', projectId, after: { value } } as const;
    await insertAuditEntry(db, { at: later(i), ...entry });
  }
}

/** Reads the whole log of a project. @returns the number of entries of each page. */
async function readPages(on: Db, projectId: string): Promise<number[]> {
  const lengths: number[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { rows, nextCursor } = await readHistory({ db: on }, projectId, { cursor, limit: 100 });
    lengths.push(rows.length);
    cursor = nextCursor;
  }
  return lengths;
}
