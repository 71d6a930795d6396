import { messageOf } from '@flywheel/protocol';
import { sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import * as projectsAndBatches from '../../migrations/0001-projects-and-batches.ts';
import * as ends from '../../migrations/0003-ends.ts';
import * as createdTokenAccounts from '../../migrations/0004-created-token-accounts.ts';
import * as pipelinesOfTransactions from '../../migrations/0005-pipelines-of-transactions.ts';
import * as console from '../../migrations/0006-console.ts';
import * as webhooks from '../../migrations/0007-webhooks.ts';
import * as vaultBalanceChecks from '../../migrations/0008-vault-balance-checks.ts';
import * as recipients from '../../migrations/0009-recipients.ts';
import * as results from '../../migrations/0010-results.ts';
import * as landedSlots from '../../migrations/0011-landed-slots.ts';
import * as finalEnds from '../../migrations/0012-final-ends.ts';
import * as openUntilFinal from '../../migrations/0013-open-until-final.ts';
import * as nonceSlots from '../../migrations/0014-nonce-slots.ts';
import * as nonceAuthorities from '../../migrations/0015-nonce-authorities.ts';
import * as companyDecisions from '../../migrations/0016-company-decisions.ts';
import * as recoveryKeys from '../../migrations/0017-recovery-keys.ts';
import * as keySuccessions from '../../migrations/0018-key-successions.ts';
import * as lostOperators from '../../migrations/0019-lost-operators.ts';
import * as companyTerms from '../../migrations/0020-company-terms.ts';
import * as companyAdmissions from '../../migrations/0021-company-admissions.ts';
import * as admissionChanges from '../../migrations/0022-admission-changes.ts';
import * as rejectionsAndFirstTerms from '../../migrations/0023-rejections-and-first-terms.ts';
import * as exposure from '../../migrations/0024-exposure.ts';
import * as servedProjects from '../../migrations/0025-served-projects.ts';
import * as pendingRegistrations from '../../migrations/0026-pending-registrations.ts';
import * as nonceShares from '../../migrations/0027-nonce-shares.ts';
import * as batchesOfOneProject from '../../migrations/0028-batches-of-one-project.ts';
import * as confirmedNonces from '../../migrations/0029-confirmed-nonces.ts';
import * as policies from '../../migrations/0030-policies.ts';
import * as countedTokenAccounts from '../../migrations/0031-counted-token-accounts.ts';
import * as partitions from '../../migrations/0032-partitions.ts';
import * as requiredMigration from '../../migrations/0033-required-migration.ts';
import * as removeVaultWatch from '../../migrations/0034-remove-vault-watch.ts';
import * as indexesOfLongPasts from '../../migrations/0037-indexes-of-long-pasts.ts';
import * as projectMoves from '../../migrations/0038-project-moves.ts';
import * as flywheelOwners from '../../migrations/0041-flywheel-owners.ts';
import * as batchArchives from '../../migrations/0042-batch-archives.ts';
import * as policySums from '../../migrations/0044-policy-sums.ts';
import * as lanes from '../../migrations/0045-lanes.ts';
import * as policySumTriggers from '../../migrations/0046-policy-sum-triggers.ts';
import * as auditLogByTime from '../../migrations/0047-audit-log-by-time.ts';
import * as unadmittedCapsAtCommit from '../../migrations/0048-unadmitted-caps-at-commit.ts';
import * as workerKeys from '../../migrations/0049-worker-keys.ts';
import type { Db } from './db.ts';

/** Migrations by name, in order. Forward only: an applied migration never changes; another one follows it. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-projects-and-batches': projectsAndBatches,
  '0003-ends': ends,
  '0004-created-token-accounts': createdTokenAccounts,
  '0005-pipelines-of-transactions': pipelinesOfTransactions,
  '0006-console': console,
  '0007-webhooks': webhooks,
  '0008-vault-balance-checks': vaultBalanceChecks,
  '0009-recipients': recipients,
  '0010-results': results,
  '0011-landed-slots': landedSlots,
  '0012-final-ends': finalEnds,
  '0013-open-until-final': openUntilFinal,
  '0014-nonce-slots': nonceSlots,
  '0015-nonce-authorities': nonceAuthorities,
  '0016-company-decisions': companyDecisions,
  '0017-recovery-keys': recoveryKeys,
  '0018-key-successions': keySuccessions,
  '0019-lost-operators': lostOperators,
  '0020-company-terms': companyTerms,
  '0021-company-admissions': companyAdmissions,
  '0022-admission-changes': admissionChanges,
  '0023-rejections-and-first-terms': rejectionsAndFirstTerms,
  '0024-exposure': exposure,
  '0025-served-projects': servedProjects,
  '0026-pending-registrations': pendingRegistrations,
  '0027-nonce-shares': nonceShares,
  '0028-batches-of-one-project': batchesOfOneProject,
  '0029-confirmed-nonces': confirmedNonces,
  '0030-policies': policies,
  '0031-counted-token-accounts': countedTokenAccounts,
  '0032-partitions': partitions,
  '0033-required-migration': requiredMigration,
  '0034-remove-vault-watch': removeVaultWatch,
  '0037-indexes-of-long-pasts': indexesOfLongPasts,
  '0038-project-moves': projectMoves,
  '0041-flywheel-owners': flywheelOwners,
  '0042-batch-archives': batchArchives,
  '0044-policy-sums': policySums,
  '0045-lanes': lanes,
  '0046-policy-sum-triggers': policySumTriggers,
  '0047-audit-log-by-time': auditLogByTime,
  '0048-unadmitted-caps-at-commit': unadmittedCapsAtCommit,
  '0049-worker-keys': workerKeys,
};

/**
 * Brings the database's schema up to date and returns the names of the applied migrations: none if a newer release has migrated
 * it and this one works with the result. Concurrent calls wait for each other.
 * @throws Error naming the migration that failed and was rolled back; or when the schema is too new for this release.
 */
export async function migrate(db: Db): Promise<string[]> {
  return db.connection().execute(async (connection) => {
    // Neither a migration nor waiting for another process's has a time limit.
    await sql`set statement_timeout = 0`.execute(connection);
    // The migrator lists all tables before it takes a lock, and fails if another process removes one meanwhile.
    await sql`select pg_advisory_lock(${MIGRATION_LOCK})`.execute(connection);
    try {
      return await migrateOn(connection);
    } finally {
      await sql`select pg_advisory_unlock(${MIGRATION_LOCK})`.execute(connection);
      await sql`reset statement_timeout`.execute(connection);
    }
  });
}

/**
 * Checks that the schema is that of this release, or one of a newer release that this one works with.
 * @returns the migrations that only the newer release has.
 * @throws Error naming the migrations that are missing, which this login may not apply; or that make the schema too new.
 */
export async function requireMigrated(db: Db): Promise<readonly string[]> {
  const state = await compareMigrations(db);
  const { pending, unknown } = state;
  requireKnown(state);
  if (pending.length > 0) {
    throw new Error(
      `The database lacks ${pending.join(', ')}, and this login may not migrate it. Run flywheel migrate with the DATABASE_URL of the tables' owner.`,
    );
  }
  return unknown;
}

/** How the schema of a database differs from that of this release. */
export interface MigrationState {
  /** Migrations of this release that were not applied. */
  readonly pending: readonly string[];
  /** Applied migrations that this release does not have: a newer one applied them. */
  readonly unknown: readonly string[];
  /** True if this release does not work with the schema. Each release works with the schema of its successor. */
  readonly isTooNew: boolean;
}

export async function compareMigrations(db: Db): Promise<MigrationState> {
  const { rows: tables } = await sql<{ exists: boolean }>`
    select to_regclass('kysely_migration') is not null as exists
  `.execute(db);
  const { rows } = tables[0]?.exists
    ? await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)
    : { rows: [] };
  const applied = new Set(rows.map(({ name }) => name));
  const unknown = [...applied].filter((name) => !isKnown(name));
  return {
    pending: Object.keys(MIGRATIONS).filter((name) => !applied.has(name)),
    unknown,
    isTooNew: unknown.length > 0 && !isKnown(await readRequiredMigration(db)),
  };
}

function isKnown(name: string): boolean {
  return Object.hasOwn(MIGRATIONS, name);
}

async function readRequiredMigration(db: Db): Promise<string> {
  const row = await db.selectFrom('schema_compatibility').select('required_migration').executeTakeFirstOrThrow();
  return row.required_migration;
}

function requireKnown({ unknown, isTooNew }: MigrationState): void {
  if (!isTooNew) return;
  throw new Error(
    `The schema is too new for this release: it has ${unknown.join(', ')}. Run the release that migrated it, or the one before that.`,
  );
}

const MIGRATION_LOCK = 0x6d696772; // 'migr'

/**
 * Applies each migration in a transaction of its own. Processes of the previous release keep running, and lock tables in other
 * orders: one transaction that changed two tables would now and then end in a deadlock with one of theirs.
 */
async function migrateOn(connection: Db): Promise<string[]> {
  const migrator = new Migrator({ db: connection, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } });
  const applied: string[] = [];
  for (;;) {
    const names = await migrateNext(connection, migrator);
    if (names.length === 0) return applied;
    applied.push(...names);
  }
}

async function migrateNext(connection: Db, migrator: Migrator): Promise<string[]> {
  const { error, results = [] } = await migrator.migrateUp();
  if (error !== undefined) {
    // The migrator refuses every database that has migrations which it does not know.
    const state = await compareMigrations(connection);
    requireKnown(state);
    if (state.unknown.length > 0) return [];
    const failed = results.find(({ status }) => status === 'Error')?.migrationName;
    const reason = messageOf(error);
    throw new Error(failed ? `Migration ${failed} failed: ${reason}` : `The schema cannot be migrated: ${reason}`, {
      cause: error,
    });
  }
  return results.map(({ migrationName }) => migrationName);
}
