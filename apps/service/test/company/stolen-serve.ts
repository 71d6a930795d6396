import { TEST_ROLES } from '@flywheel/testing/postgres';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../src/store/db.ts';

/** One statement of a thief who has the database rights of `serve`. */
export interface Attack {
  /** The privilege that it uses, e.g. `UPDATE batches (status)`. */
  readonly privilege: string;
  readonly name: string;
  /** Table that it writes, with its schema if that is not `public`. */
  readonly table: string;
  readonly statement: RawBuilder<unknown>;
}

/** Rows that a thief wants signed, and rows of which he may copy values because they were signed. */
export interface Rows {
  readonly targets: readonly string[];
  /** A batch that an operator has approved and that was executed, of a project of the thief's. */
  readonly donor: string;
}

const ROLE = TEST_ROLES.DATABASE_SERVE_ROLE;

/** Reads what `serve` may write, from the catalog: column by column for inserts and updates. */
export async function readPrivileges(db: Db): Promise<Privilege[]> {
  const { rows } = await sql<Privilege>`
    with relation as (
      select oid, relname, relkind, relnamespace::regnamespace::text as schema from pg_class
      where relkind in ('r', 'p', 'v', 'S') and relnamespace in ('public'::regnamespace, 'jobs'::regnamespace)
    )
    select schema, relname as table, privilege, null as column, null as type from relation,
      unnest(array['DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN']) as privilege
    where relkind <> 'S' and has_table_privilege(${ROLE}, oid, privilege)
    union all
    select schema, relname, privilege, attname, format_type(atttypid, null) from relation
    join pg_attribute on attrelid = oid and attnum > 0 and not attisdropped,
      unnest(array['INSERT', 'UPDATE']) as privilege
    where relkind <> 'S' and has_column_privilege(${ROLE}, oid, attnum, privilege)
    union all
    select schema, relname, privilege, null, null from relation, unnest(array['USAGE', 'UPDATE']) as privilege
    where relkind = 'S' and has_sequence_privilege(${ROLE}, oid, privilege)
    union all
    select pronamespace::regnamespace::text, proname, 'SECURITY DEFINER', null, null from pg_proc
    where prosecdef and pronamespace in ('public'::regnamespace, 'jobs'::regnamespace)
    order by 1, 2, 3, 4
  `.execute(db);
  return rows;
}

export interface Privilege {
  readonly schema: string;
  readonly table: string;
  readonly privilege: string;
  readonly column: string | null;
  readonly type: string | null;
}

export function describePrivilege(given: Privilege): string {
  const { privilege, column } = given;
  return `${privilege} ${tableOf(given)}${column === null ? '' : ` (${column})`}`;
}

/**
 * Makes attacks of every privilege: each column of a target is set to null, to the value of a row that was signed, and, if a
 * number, to an extreme; a row is inserted into each table that copies a signed one and names a target; the rows of a table are deleted.
 */
export function makeAttacks(privileges: readonly Privilege[], rows: Rows): Attack[] {
  const inserts = Map.groupBy(
    privileges.filter(({ privilege }) => privilege === 'INSERT'),
    tableOf,
  );
  return [
    ...privileges.flatMap((given) => (given.privilege === 'UPDATE' ? updatesOf(given, rows) : [])),
    ...[...inserts.values()].flatMap((columns) => insertsOf(columns, rows)),
    ...privileges.filter(({ privilege }) => privilege === 'DELETE').map(deletionOf),
  ];
}

function tableOf({ schema, table }: Privilege): string {
  return schema === 'public' ? table : `${schema}.${table}`;
}

function updatesOf(given: Privilege, rows: Rows): Attack[] {
  const { column, type } = given;
  if (column === null || type === null) return [];
  const [table, name] = [sql.table(tableOf(given)), sql.id(column)];
  const where = rowsOf(given, rows.targets);
  const donor = sql`(select ${name} from ${table} where ${rowsOf(given, [rows.donor])} limit 1)`;
  const values: Readonly<Record<string, RawBuilder<unknown>>> = {
    null: sql`null`,
    'the value of a signed row': donor,
    ...(NUMBERS.includes(type) && { 'an extreme': extremeOf(type) }),
  };
  return Object.entries(values).map(([value, expression]) => ({
    privilege: describePrivilege(given),
    name: `${describePrivilege(given)} to ${value}`,
    table: tableOf(given),
    statement: sql`update ${table} set ${name} = ${expression} where ${where}`,
  }));
}

const NUMBERS = ['numeric', 'bigint', 'integer'];

function extremeOf(type: string): RawBuilder<unknown> {
  return sql`${sql.raw(EXTREMES[type] ?? "'x'")}::${sql.raw(type)}`;
}

/** Values by type: as large, as late or as unrestricted as possible. */
const EXTREMES: Readonly<Record<string, string>> = {
  numeric: "'99999999999999999999'",
  bigint: "'9223372036854775807'",
  integer: "'2147483647'",
  smallint: "'32767'",
  'timestamp with time zone': "'2099-01-01'",
  'timestamp without time zone': "'2099-01-01'",
  date: "'2099-01-01'",
  boolean: "'false'",
  json: "'{}'",
  jsonb: "'{}'",
  bytea: "'\\x00'",
  uuid: 'gen_random_uuid()',
  'text[]': "'{}'",
  'jobs.job_state': "'created'",
};

/** The rows of a table that belong to batches; all rows of a table without such a reference. */
function rowsOf({ schema, table }: Privilege, batches: readonly string[]): RawBuilder<unknown> {
  const ids = sql`${sql.val(batches)}::uuid[]`;
  const projects = sql`(select project_id from batches where id = any(${ids}))`;
  if (schema === 'jobs') return sql`data->>'batchId' = any(${sql.val(batches)}::text[])`;
  switch (table) {
    case 'batches':
    case 'projects':
      return table === 'batches' ? sql`id = any(${ids})` : sql`id in ${projects}`;
    case 'nonces':
      return sql`batch_id = any(${ids}) or address in (select nonce_address from batches where id = any(${ids}))`;
    case 'flywheels':
    case 'api_keys':
    case 'daily_amounts':
    case 'registrations':
    case 'webhook_endpoints':
    case 'vault_balance_checks':
      return sql`project_id in ${projects}`;
    default:
      return sql`true`;
  }
}

function insertsOf(columns: readonly Privilege[], { targets, donor }: Rows): Attack[] {
  const [first] = columns;
  if (!first) return [];
  const table = sql.table(tableOf(first));
  const names = sql.join(columns.map(({ column }) => sql.id(column ?? '')));
  const has = (name: string) => columns.some(({ column }) => column === name);
  const privilege = describePrivilege({ ...first, column: null });
  const sourceOf = (target: string) => {
    if (has('batch_id')) return sql`batch_id = ${donor}`;
    // An open batch: a row that has ended needs columns that an insert may not name.
    return rowsOf(first, [first.table === 'batches' ? target : donor]);
  };
  return targets.map((target, index) => ({
    privilege,
    name: `${privilege} for target ${index}`,
    table: tableOf(first),
    statement: sql`
      insert into ${table} (${names})
      select ${sql.join(columns.map((column) => insertedValue(column, target)))}
      from (select) as one left join (select * from ${table} where ${sourceOf(target)} limit 1) as signed on true
    `,
  }));
}

/** The value of an inserted row: what names a target, what must differ from every other row, else that of the signed row. */
function insertedValue({ column, type }: Privilege, target: string): RawBuilder<unknown> {
  const name = column ?? '';
  if (name === 'batch_id') return sql`${target}::uuid`;
  if (['project_id', 'flywheel_id', 'token_id', 'batch_index'].includes(name)) {
    const value = name === 'batch_index' ? sql`batch_index + 1000` : sql.id(name);
    return sql`(select ${value} from batches where id = ${target})`;
  }
  if (['id', 'idempotency_key'].includes(name)) return sql`gen_random_uuid()`;
  if (UNIQUE_TEXTS.includes(name)) return sql`gen_random_uuid()::text`;
  if (['signature', 'hash'].includes(name)) return sql`sha256(gen_random_uuid()::text::bytea)`;
  return sql`coalesce(signed.${sql.id(name)}, ${extremeOf(type ?? 'text')})`;
}

const UNIQUE_TEXTS = ['nonce', 'prefix', 'key', 'address', 'multisig', 'vault', 'event_id'];

function deletionOf(given: Privilege): Attack {
  return {
    privilege: describePrivilege(given),
    name: describePrivilege(given),
    table: tableOf(given),
    statement: sql`delete from ${sql.table(tableOf(given))}`,
  };
}
