import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { sql } from 'kysely';
import { openDb } from '../../src/store/db.ts';
import { migrate } from '../../src/store/migrate.ts';

const run = promisify(execFile);

it('docs/operating.md has commands that back up and restore a database', async (t) => {
  const { db, url } = await openTestDatabase();
  const { rows } = await sql<{ server_version: string }>`show server_version`.execute(db);
  const needed = Number.parseInt(rows[0]?.server_version ?? '', 10);
  const found = await versionOf('pg_dump');
  if (found < needed)
    return t.skip(`pg_dump here is ${found || 'missing'}; it must be ${needed} or newer, as the server.`);

  await sql`insert into rate_limits (key, points) values ('kept', 7)`.execute(db);
  const directory = await mkdtemp(join(tmpdir(), 'flywheel-backup-'));
  const restored = new URL(url);
  restored.pathname += '_restored';
  const lines = await documentedLines();
  try {
    const env = { ...process.env, DATABASE_URL: url, RESTORED_URL: restored.href };
    const script = lines.replace('create database restored', `create database "${restored.pathname.slice(1)}"`);
    await run('bash', ['-euc', script], { cwd: directory, env });
  } finally {
    await rm(directory, { recursive: true });
  }
  const copy = openDb({ connectionString: restored.href }, quietLog);
  try {
    assert.deepEqual(await migrate(copy), []);
    const kept = await sql`select points from rate_limits where key = 'kept'`.execute(copy);
    assert.deepEqual(kept.rows, [{ points: 7 }]);
  } finally {
    await copy.destroy();
  }
});

/** Returns the major version of a program; 0 if it is not installed. */
async function versionOf(program: string): Promise<number> {
  const { stdout } = await run(program, ['--version']).catch(() => ({ stdout: '' }));
  return Number.parseInt(/ (\d+)/.exec(stdout)?.[1] ?? '0', 10);
}

async function documentedLines(): Promise<string> {
  const page = await readFile(new URL('../../../../docs/operating.md', import.meta.url), 'utf8');
  const lines = /```sh\n(pg_dump [\s\S]*?)```/.exec(page)?.[1];
  assert.ok(lines, 'docs/operating.md says no longer how to dump');
  return lines;
}
