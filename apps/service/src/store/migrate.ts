import { sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import * as projectsAndBatches from '../../migrations/0001-projects-and-batches.ts';
import * as ends from '../../migrations/0003-ends.ts';
import * as createdTokenAccounts from '../../migrations/0004-created-token-accounts.ts';
import * as pipelinesOfTransactions from '../../migrations/0005-pipelines-of-transactions.ts';
import * as console from '../../migrations/0006-console.ts';
import * as webhooks from '../../migrations/0007-webhooks.ts';
import type { Db } from './db.ts';

/** By name, in order. Forward only: what was applied anywhere is never changed, only followed by another. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-projects-and-batches': projectsAndBatches,
  '0003-ends': ends,
  '0004-created-token-accounts': createdTokenAccounts,
  '0005-pipelines-of-transactions': pipelinesOfTransactions,
  '0006-console': console,
  '0007-webhooks': webhooks,
};

/**
 * Brings the database's schema up to date; answers the names applied. Processes that start at once wait for each other.
 * @throws Error naming the migration that failed, of which nothing remains; or when the database is newer than we are.
 */
export async function migrate(db: Db): Promise<string[]> {
  return db.connection().execute(async (connection) => {
    // A migration may take as long as it takes, and so may waiting for another process's.
    await sql`set statement_timeout = 0`.execute(connection);
    try {
      return await migrateOn(connection);
    } finally {
      await sql`reset statement_timeout`.execute(connection);
    }
  });
}

async function migrateOn(connection: Db): Promise<string[]> {
  const migrator = new Migrator({ db: connection, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } });
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error !== undefined) {
    const failed = results.find(({ status }) => status === 'Error')?.migrationName;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(failed ? `Migration ${failed} failed: ${reason}` : `The schema cannot be migrated: ${reason}`, {
      cause: error,
    });
  }
  return results.map(({ migrationName }) => migrationName);
}
