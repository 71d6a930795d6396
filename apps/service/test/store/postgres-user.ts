/**
 * A process that uses an embedded PostgreSQL, for tests that kill it. It writes rows one after another and, after each
 * is acknowledged, prints its number to stdout.
 */

import { quietLog } from '@flywheel/testing/postgres';
import { NOW } from '@flywheel/testing/records';
import { closeDb, openDb } from '../../src/store/db.ts';
import { migrate } from '../../src/store/migrate.ts';
import { startPostgres } from '../../src/store/postgres.ts';
import { insertChallenge } from '../../src/store/projects/sessions.ts';

const dataDirectory = process.argv[2] ?? '';
const rows = Number(process.argv[3] ?? Number.POSITIVE_INFINITY);
const postgres = await startPostgres({ dataDirectory, exclusive: true, log: quietLog });
const db = openDb(postgres.poolConfig, quietLog);
await migrate(db);
for (let i = 0; i < rows; i++) {
  await insertChallenge(db, { nonce: String(i), wallet: 'wallet', message: 'message', expiresAt: NOW });
  process.stdout.write(`${i}\n`);
}
await closeDb(db);
await postgres.stop();
