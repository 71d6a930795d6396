import { randomUUID } from 'node:crypto';
import type { Db } from '@flywheel/service/internal/store/db.ts';
import { sql } from 'kysely';
import { startPgBouncer, WITH_PGBOUNCER } from './pgbouncer.ts';
import { TEST_ROLES } from './postgres.ts';

type Variables = Readonly<Record<string, string>>;

/** PgBouncer between the processes of a service and their database. */
export interface WorldPooler {
  /**
   * Changes the variables of a process: DATABASE_URL leads through PgBouncer, DATABASE_DIRECT_URL around it. A DATABASE_URL of
   * another server than the world's stays as it is.
   */
  pooled(variables: Variables): Variables;
  /** Processes of PostgreSQL that PgBouncer uses now. */
  serverProcesses(): Promise<number[]>;
  stop(): Promise<void>;
}

/**
 * Starts PgBouncer in transaction mode in front of a migrated database. The processes connect with a login that has the
 * rights of `serve` and `work`: behind a pooler none can take on a role, and the owner of the tables may not be used.
 * @throws Error if PgBouncer is not installed.
 */
export async function startWorldPooler(url: string, db: Db): Promise<WorldPooler> {
  if (WITH_PGBOUNCER.skip !== false) throw new Error(WITH_PGBOUNCER.skip);
  const login = await createPooledLogin(db, Object.values(TEST_ROLES));
  const { through, serverProcesses, stop } = await startPgBouncer(url, [login]);
  return {
    pooled: (variables) => {
      const direct = new URL(variables.DATABASE_URL ?? '');
      if (serverOf(direct) !== serverOf(new URL(url))) return variables;
      direct.username = login;
      return { ...variables, DATABASE_URL: through(direct.href), DATABASE_DIRECT_URL: direct.href };
    },
    serverProcesses,
    stop,
  };
}

/**
 * Creates a login with the rights of roles, for processes behind PgBouncer. It has the timeouts that PgBouncer takes from no
 * client (docs/operating.md, Behind a pooler). The login lives as long as the server of the tests.
 */
export async function createPooledLogin(db: Db, roles: readonly string[]): Promise<string> {
  const login = `pooled_${randomUUID().slice(0, 8)}`;
  await sql`create role ${sql.id(login)} login in role ${sql.join(roles.map((role) => sql.id(role)))}`.execute(db);
  await sql`alter role ${sql.id(login)} set statement_timeout = '30s'`.execute(db);
  await sql`alter role ${sql.id(login)} set idle_in_transaction_session_timeout = '60s'`.execute(db);
  return login;
}

function serverOf({ host, searchParams }: URL): string {
  return `${host} ${searchParams.get('host')}`;
}
