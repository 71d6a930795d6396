import type { Config, examine } from '@flywheel/service';
import { count } from '../../words.ts';
import { type Finding, failure, ok, warning } from './check.ts';

export type DatabaseFindings = NonNullable<Awaited<ReturnType<ReturnType<typeof examine>['database']>>>;

/** What the service is tested on. */
const POSTGRES_MAJOR = 18;

/** The database’s version and schema, once it has answered; null: there is none yet. */
export function checkDatabase({ dataDirectory }: Config, found: DatabaseFindings | null): Finding[] {
  if (!found) {
    const text = `There is no data directory ${dataDirectory} yet, and so no database.`;
    return [warning('database', text, 'npm start makes both; DATABASE_URL names another database.')];
  }
  return [versionFinding(found), schemaFinding(found)];
}

function versionFinding({ version }: DatabaseFindings): Finding {
  if (Number.parseInt(version, 10) >= POSTGRES_MAJOR) return ok('database', `PostgreSQL ${version} answers.`);
  const text = `PostgreSQL ${version} answers; the service is tested on ${POSTGRES_MAJOR}.`;
  return warning('database', text, `Upgrade it to PostgreSQL ${POSTGRES_MAJOR}.`);
}

function schemaFinding({ pendingMigrations, unknownMigrations }: DatabaseFindings): Finding {
  if (unknownMigrations.length > 0) {
    const text = `The schema is newer than this release: it has ${unknownMigrations.join(', ')}.`;
    return failure('schema', text, 'Run the release that migrated it, or a newer one.');
  }
  if (pendingMigrations.length > 0) {
    const text = `${count(pendingMigrations.length, 'migration')} to apply: ${pendingMigrations.join(', ')}.`;
    return warning('schema', text, 'flywheel migrate applies them; so does the service when it starts.');
  }
  return ok('schema', 'Every migration is applied.');
}
