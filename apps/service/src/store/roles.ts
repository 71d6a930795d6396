import { sql } from 'kysely';
import type pg from 'pg';
import { hasCode } from '../model/has-code.ts';
import { type Db, inTransaction } from './db.ts';
import { rightsOf } from './grants.ts';
import { compareMigrations } from './migrate.ts';
import type { DatabaseRole, Rights } from './rights.ts';

/** Names of the roles in PostgreSQL; null for one that is not used: its processes have the rights of their login. */
export type RoleNames = Readonly<Record<DatabaseRole, string | null>>;

/**
 * Creates the roles that are missing, and makes the rights of each exactly those of `grants.ts`, in one transaction. Changes
 * nothing if they are, or if a newer release has migrated the database: its processes need the rights that it has granted.
 * This login must own the tables.
 * @throws Error with the statement that an administrator must run if this login may not create a role; Error if rights do not
 * limit a role.
 */
export async function provideRoles(db: Db, names: RoleNames): Promise<void> {
  const used = usedRoles(names);
  for (const { name } of used) {
    await createRole(db, name);
    const unlimited = await findUnlimited(db, name);
    if (unlimited !== null) throw new Error(unlimited);
  }
  await inTransaction(db, async (trx) => {
    // Of two simultaneous grants on one table the second would fail.
    await sql`select pg_advisory_xact_lock(${GRANT_LOCK})`.execute(trx);
    if ((await compareMigrations(trx)).unknown.length > 0) return;
    await revokeFunctions(trx);
    for (const { role, name } of used) {
      const rights = rightsOf(role);
      const [missing, excess] = compare(rights, await readPrivileges(trx, name));
      for (const table of new Set([...missing, ...excess].map(({ table }) => table))) {
        await grantTable(trx, name, table, rights.get(table) ?? {});
      }
      await sql`grant usage on schema ${sql.id(await currentSchema(trx))}, jobs to ${sql.id(name)}`.execute(trx);
    }
  });
}

/**
 * Lists how the rights of a role differ from `grants.ts`, as sentences; a role that does not exist lacks all. Every role has
 * what is granted to PUBLIC, and may create objects in a schema where PUBLIC may, as in databases of PostgreSQL 14 and older.
 */
export async function findRightsIssues(db: Db, names: RoleNames): Promise<string[]> {
  const used = usedRoles(names);
  if (used.length === 0) return [];
  const found = used.map(async ({ role, name }) => {
    if (!(await hasRole(db, name))) return [`The role ${name} does not exist.`];
    const [missing, excess] = compare(rightsOf(role), await readPrivileges(db, name));
    const [schemas, unlimited] = [await findCreatable(db, name), await findUnlimited(db, name)];
    return [
      ...(unlimited === null ? [] : [unlimited]),
      ...(missing.length > 0 ? [`${name} lacks ${describePrivileges(missing)}.`] : []),
      ...(excess.length > 0 ? [`${name} has more than its rights: ${describePrivileges(excess)}.`] : []),
      ...schemas.map(
        (schema) =>
          `${name} may create objects in the schema ${schema}: revoke create on schema "${schema}" from public;`,
      ),
    ];
  });
  const ofAll = await readPrivileges(db, null);
  return [
    ...(await Promise.all(found)).flat(),
    ...(ofAll.length > 0 ? [`PUBLIC, and so every role, has ${describePrivileges(ofAll)}.`] : []),
  ];
}

function describePrivileges(privileges: readonly Privilege[]): string {
  const shown = privileges.slice(0, MAX_SHOWN).map(({ key }) => key);
  return [...shown, ...(privileges.length > MAX_SHOWN ? [`${privileges.length - MAX_SHOWN} more`] : [])].join(', ');
}

/** Lists the schemas of the service in which a role may create objects, by its own right or another's. */
async function findCreatable(db: Db, name: string): Promise<string[]> {
  const { rows } = await sql<{ schema: string }>`
    select nspname as schema from pg_namespace
    where nspname in (current_schema(), 'jobs') and has_schema_privilege(${name}, oid, 'CREATE') order by nspname
  `.execute(db);
  return rows.map(({ schema }) => schema);
}

/**
 * Finds out if a role has rights that no grant gives and no revocation takes: a superuser has all, a member of the tables' owner
 * has the owner's. @returns the reason, a sentence; null if its rights are those that are granted.
 */
async function findUnlimited(db: Db, name: string): Promise<string | null> {
  const { rows } = await sql`
    select from pg_roles join pg_class on pg_class.oid = to_regclass('kysely_migration')
    where rolname = ${name} and (rolsuper or pg_has_role(pg_roles.oid, relowner, 'MEMBER'))
  `.execute(db);
  return rows.length === 0
    ? null
    : `Rights do not limit the role ${name}: it is a superuser, or may act as the owner of the tables. Name another role.`;
}

/** True if this login may change the schema: it owns the tables, or may create the first ones. */
export async function mayMigrate(db: Db): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`
    select coalesce(
      (select pg_has_role(relowner, 'USAGE') from pg_class where oid = to_regclass('kysely_migration')),
      has_schema_privilege(current_schema(), 'CREATE'),
      false
    ) as may
  `.execute(db);
  return rows[0]?.may === true;
}

/**
 * Makes sure that the login of a connection may take on a role with `set role`; grants that if it must.
 * @throws Error if the role does not exist, or with the statement that an administrator must run if the login may not grant it.
 */
export async function prepareRole(db: Db, name: string): Promise<void> {
  const { rows } = await sql<{ login: string; may: boolean }>`
    select current_user as login, pg_has_role(oid, 'SET') as may from pg_roles where rolname = ${name}
  `.execute(db);
  const [found] = rows;
  if (!found) throw new Error(`The role ${name} does not exist. flywheel migrate creates it, or says who must.`);
  if (found.may) return;
  const grant = sql`grant ${sql.id(name)} to current_user with inherit false, set true`;
  await grant.execute(db).catch((cause: unknown) => {
    if (!hasCode(cause, INSUFFICIENT_PRIVILEGE)) throw cause;
    throw new Error(
      `The login ${found.login} may not take on the role ${name}. An administrator must run: grant "${name}" to "${found.login}";`,
      { cause },
    );
  });
}

/**
 * Requires a login that has the rights of a role and no others: behind a pooler a connection cannot take a role on.
 * @throws Error with what an administrator must do.
 */
export async function requireRights(db: Db, name: string): Promise<void> {
  const { rows } = await sql<{ login: string; has: boolean }>`
    select current_user as login, pg_has_role(oid, 'USAGE') as has from pg_roles where rolname = ${name}
  `.execute(db);
  const [found] = rows;
  if (found?.has && (await findUnlimited(db, found.login)) === null) return;
  throw new Error(
    `Behind a pooler a process cannot take on the role ${name}. Let DATABASE_URL name a login that is a member of it and does not own the tables.`,
  );
}

/** Options of connections that have the rights of a role from their first statement on. */
export function takeOnRole(poolConfig: pg.PoolConfig, name: string): pg.PoolConfig {
  const option = `-c role=${name}`;
  if (!poolConfig.connectionString) return { ...poolConfig, options: option };
  // The driver prefers the options of the URL.
  const url = new URL(poolConfig.connectionString);
  const given = url.searchParams.get('options');
  url.searchParams.set('options', given ? `${given} ${option}` : option);
  return { ...poolConfig, connectionString: url.href };
}

const GRANT_LOCK = 0x67726e74; // 'grnt'
const MAX_SHOWN = 3;

function usedRoles({ serve, work }: RoleNames): { readonly role: DatabaseRole; readonly name: string }[] {
  return [
    ...(serve === null ? [] : [{ role: 'serve' as const, name: serve }]),
    ...(work === null ? [] : [{ role: 'work' as const, name: work }]),
  ];
}

const INSUFFICIENT_PRIVILEGE = '42501';
/** Another process created it first: the second of these if both did so at once. */
const EXISTS_ALREADY = ['42710', '23505'];

async function createRole(db: Db, name: string): Promise<void> {
  if (await hasRole(db, name)) return;
  await sql`create role ${sql.id(name)} nologin`.execute(db).catch((cause: unknown) => {
    if (hasCode(cause, ...EXISTS_ALREADY)) return;
    if (!hasCode(cause, INSUFFICIENT_PRIVILEGE)) throw cause;
    throw new Error(
      `The role ${name} does not exist, and this login may not create it. An administrator must run: create role "${name}" nologin;`,
      { cause },
    );
  });
}

async function hasRole(db: Db, name: string): Promise<boolean> {
  const { rows } = await sql`select from pg_roles where rolname = ${name}`.execute(db);
  return rows.length === 1;
}

async function currentSchema(db: Db): Promise<string> {
  const { rows } = await sql<{ name: string }>`select current_schema() as name`.execute(db);
  return rows[0]?.name ?? 'public';
}

/** A right on a table, on one of its columns, or on a function. */
interface Privilege {
  readonly table: string;
  /** E.g. `UPDATE batches (status)`. */
  readonly key: string;
}

/** Lists the privileges that are missing, and those that are too many. */
function compare(
  rights: ReadonlyMap<string, Rights>,
  actual: readonly Privilege[],
): readonly [missing: Privilege[], excess: Privilege[]] {
  const wanted = [...rights].flatMap(([table, right]) => listPrivileges(table, right));
  const keysOf = (privileges: readonly Privilege[]) => new Set(privileges.map(({ key }) => key));
  const [wantedKeys, actualKeys] = [keysOf(wanted), keysOf(actual)];
  return [wanted.filter(({ key }) => !actualKeys.has(key)), actual.filter(({ key }) => !wantedKeys.has(key))];
}

function listPrivileges(table: string, rights: Rights): Privilege[] {
  return listGrants(rights).flatMap(({ privilege, columns }) =>
    columns === null
      ? [{ table, key: `${privilege} ${table}` }]
      : columns.map((column) => ({ table, key: `${privilege} ${table} (${column})` })),
  );
}

/** The statements of a table's rights: a privilege on the whole table, or on some of its columns. */
function listGrants({ select, insert, update, delete: remove, maintain, execute }: Rights) {
  const whole = (privilege: string) => ({ privilege, columns: null });
  const some = (privilege: string, columns: readonly string[] | 'all' | undefined) => {
    if (columns === undefined) return [];
    return columns === 'all' ? [whole(privilege)] : [{ privilege, columns }];
  };
  return [
    ...(select ? [whole('SELECT')] : []),
    ...some('INSERT', insert),
    ...some('UPDATE', update),
    ...(remove ? [whole('DELETE')] : []),
    ...(maintain ? [whole('MAINTAIN')] : []),
    ...(execute ? [whole('EXECUTE')] : []),
  ];
}

/**
 * Reads what was granted to a role itself, or to PUBLIC for null, on the tables of the service and its queue, and on functions
 * that have their owner's rights.
 */
async function readPrivileges(db: Db, name: string | null): Promise<Privilege[]> {
  const { rows } = await sql<Privilege>`
    with relation as (
      select oid, relacl, case when relnamespace = 'jobs'::regnamespace then 'jobs.' else '' end || relname as name
      from pg_class
      where relkind in ('r', 'p', 'v', 'm', 'f', 'S')
        and relnamespace in (current_schema()::regnamespace, 'jobs'::regnamespace)
    ),
    granted as (
      select name, null as column_name, acl.* from relation cross join aclexplode(relacl) acl
      union all
      select name, attname, acl.* from relation join pg_attribute on attrelid = oid cross join aclexplode(attacl) acl
      union all
      -- PUBLIC may call a function unless that was revoked, and a dump without privileges forgets it.
      select 'function ' || oid::regprocedure, null, acl.*
      from pg_proc cross join aclexplode(coalesce(proacl, acldefault('f', proowner))) acl
      where prosecdef and pronamespace = current_schema()::regnamespace
    )
    select name as table, privilege_type || ' ' || name || coalesce(' (' || column_name || ')', '') as key
    from granted where grantee = coalesce((select oid from pg_roles where rolname = ${name}), 0)
    order by key
  `.execute(db);
  return rows;
}

/** Takes the functions with the owner's rights from PUBLIC, which has every new function. */
async function revokeFunctions(trx: Db): Promise<void> {
  for (const { table } of await readPrivileges(trx, null)) {
    if (isFunction(table)) await sql`revoke all on ${sql.raw(table)} from public`.execute(trx);
  }
}

function isFunction(name: string): boolean {
  return name.startsWith('function ');
}

/** Replaces the rights of a role on a table or function; revoking them from a table revokes them from its columns. */
async function grantTable(trx: Db, name: string, table: string, rights: Rights): Promise<void> {
  const target = isFunction(table) ? sql.raw(table) : sql.table(table);
  await sql`revoke all on ${target} from ${sql.id(name)}`.execute(trx);
  for (const { privilege, columns } of listGrants(rights)) {
    const named = columns === null ? sql`` : sql` (${sql.join(columns.map((column) => sql.id(column)))})`;
    await sql`grant ${sql.raw(privilege)}${named} on ${target} to ${sql.id(name)}`.execute(trx);
  }
}
