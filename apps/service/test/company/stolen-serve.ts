import { randomUUID } from 'node:crypto';
import { TEST_ROLES } from '@flywheel/testing/postgres';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../src/store/db.ts';

/** One statement of a thief who has the database rights of `serve`. */
export interface Attack {
  readonly name: string;
  /** The privileges that it uses, e.g. `UPDATE batches (status)`. */
  readonly privileges: readonly string[];
  /** Statements of one round run together; another round's could hide what they do. */
  readonly round: string;
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
    select schema, relname as table, privilege, null as column, null as type, null as "isNullable" from relation,
      unnest(array['DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN']) as privilege
    where relkind <> 'S' and has_table_privilege(${ROLE}, oid, privilege)
    union all
    select schema, relname, privilege, attname, format_type(atttypid, null), not attnotnull from relation
    join pg_attribute on attrelid = oid and attnum > 0 and not attisdropped,
      unnest(array['INSERT', 'UPDATE']) as privilege
    where relkind <> 'S' and has_column_privilege(${ROLE}, oid, attnum, privilege)
    union all
    select schema, relname, privilege, null, null, null from relation, unnest(array['USAGE', 'UPDATE']) as privilege
    where relkind = 'S' and has_sequence_privilege(${ROLE}, oid, privilege)
    union all
    select pronamespace::regnamespace::text, proname, 'SECURITY DEFINER', null, null, null from pg_proc
    where prosecdef and pronamespace in ('public'::regnamespace, 'jobs'::regnamespace)
      and has_function_privilege(${ROLE}, oid, 'EXECUTE')
    order by 1, 2, 3, 4
  `.execute(db);
  return rows;
}

interface Privilege {
  readonly schema: string;
  readonly table: string;
  readonly privilege: string;
  readonly column: string | null;
  readonly type: string | null;
  readonly isNullable: boolean | null;
}

/** Names what must be used: an update of each column, an insert into each table, and every other privilege. */
export function describePrivilege(given: Privilege): string {
  const { privilege, column } = given;
  return `${privilege} ${tableOf(given)}${column === null || privilege === 'INSERT' ? '' : ` (${column})`}`;
}

/**
 * Makes attacks of every privilege: a row is inserted into each table that copies a signed one and names a target; each column
 * of a target is set to null, to the value of a row that was signed, and to an extreme; the rows of a table are deleted.
 */
export function makeAttacks(privileges: readonly Privilege[], rows: Rows): Attack[] {
  const columnsOf = (wanted: string) =>
    Map.groupBy(
      privileges.filter(({ privilege, column }) => privilege === wanted && column !== null),
      tableOf,
    );
  // A row may refer only to rows that are there, such as a pipeline to its batch.
  const inserts = [...columnsOf('INSERT')].sort(([a], [b]) => rankOf(a) - rankOf(b));
  return [
    ...inserts.flatMap(([, columns]) => insertsOf(columns, rows)),
    ...[...columnsOf('UPDATE').values()].flatMap((columns) => updatesOf(columns, rows)),
    ...privileges.filter(({ privilege }) => privilege === 'DELETE').map(deletionOf),
  ];
}

function tableOf({ schema, table }: Privilege): string {
  return schema === 'public' ? table : `${schema}.${table}`;
}

const FIRST_TABLES = ['projects', 'tokens', 'flywheels', 'batches', 'webhook_endpoints'];

function rankOf(table: string): number {
  const rank = FIRST_TABLES.indexOf(table);
  return rank === -1 ? FIRST_TABLES.length : rank;
}

/** Tables that a worker reads before the company signs. Statements on all others run in one round. */
const READ_BEFORE_SIGNING = [
  ...['projects', 'flywheels', 'tokens', 'batches', 'pipelines', 'nonces', 'held_recipients', 'non_wallets'],
  ...['company', 'company_decisions', 'company_changes', 'jobs.job', 'jobs.job_common'],
];

/** Columns with whose value the worker stops early, or takes another way. Each value has a round of its own. */
const DECIDING = ['signed_tx', 'nonce_value', 'status', 'company_asked_at', 'company_decided_at'];

/** Columns of one table that a constraint binds to each other, with values that are accepted together. */
const TOGETHER: readonly { readonly table: string; readonly values: Readonly<Record<string, string>> }[] = [
  { table: 'batches', values: { status: "'EXECUTED'", ended_at: 'now()', execute_result: '$donor' } },
  { table: 'batches', values: { company_decided_at: '$donor', company_operator: '$donor' } },
  { table: 'nonces', values: { state: "'refreshing'", batch_id: 'null' } },
  { table: 'webhook_deliveries', values: { lease: 'gen_random_uuid()', leased_until: 'now()' } },
];

/** Values that a check accepts, where an extreme would be refused. */
const ACCEPTED: Readonly<Record<string, string>> = {
  'batches.status': "'AVAILABLE_TO_QUEUE'",
  // That of a signed row may be the one that the targets have.
  'batches.nonce_value': "'11111111111111111111111111111111'",
  'batches.execution_error': `'{"code":"ERR_BATCH_EXECUTE_FAILED"}'`,
  'batches.end_cause': "'cancelled'",
  'batches.company_reason': "'Rejected.'",
  'webhook_endpoints.state': "'disabled'",
  'webhook_deliveries.state': "'failed'",
  'api_keys.replaced_by': '(select id from api_keys order by id limit 1)',
};

function updatesOf(columns: readonly Privilege[], rows: Rows): Attack[] {
  const table = columns[0] ? tableOf(columns[0]) : '';
  const ofTable = (name: string) => columns.find(({ column }) => column === name);
  const bound = TOGETHER.filter((each) => each.table === table).flatMap(({ values }) => {
    const set = Object.entries(values).map(([name, value]) => ({ column: ofTable(name), value }));
    const whole = set.flatMap(({ column, value }) => (column ? [{ column, value }] : []));
    return whole.length === set.length ? [updateOf(whole, rows)] : [];
  });
  const single = columns.flatMap((column) => valuesOf(column).map((value) => updateOf([{ column, value }], rows)));
  return [...single, ...bound];
}

/** Values for a column as SQL; `$donor` is that of the signed row. */
function valuesOf(given: Privilege): string[] {
  const accepted = ACCEPTED[`${tableOf(given)}.${given.column}`];
  const isData = ['json', 'jsonb', 'text'].includes(given.type ?? '') && given.table === 'batches';
  return [
    ...(given.isNullable ? ['null'] : []),
    '$donor',
    ...(accepted !== undefined ? [accepted] : isData ? [] : [extremeOf(given.type ?? 'text')]),
  ];
}

interface Setting {
  readonly column: Privilege;
  readonly value: string;
}

/** Changes the rows of the targets that do not have the values yet, so that it uses its privileges or changes nothing. */
function updateOf(settings: readonly Setting[], rows: Rows): Attack {
  const [first] = settings;
  if (!first) throw new Error('An update sets a column.');
  const table = tableOf(first.column);
  const privileges = settings.map(({ column }) => describePrivilege(column));
  const name = settings
    .map(
      ({ column, value }) => `${describePrivilege(column)} to ${value === '$donor' ? 'that of a signed row' : value}`,
    )
    .join(' and ');
  const set = settings.map(({ column, value }) => {
    const id = sql.id(column.column ?? '');
    const donor = sql`(select ${id} from ${sql.table(table)} where ${rowsOf(column, [rows.donor])} limit 1)`;
    return { id, value: value === '$donor' ? donor : sql.raw(value) };
  });
  const isDeciding = DECIDING.includes(first.column.column ?? '');
  return {
    name,
    privileges,
    round: isDeciding ? name : roundOf(table, 'UPDATE'),
    table,
    statement: sql`
      update ${sql.table(table)} set ${sql.join(set.map(({ id, value }) => sql`${id} = ${value}`))}
      where ${rowsOf(first.column, rows.targets)}
        and (${sql.join(
          set.map(({ id, value }) => sql`${id}::text is distinct from (${value})::text`),
          sql` or `,
        )})
    `,
  };
}

function roundOf(table: string, privilege: string): string {
  return READ_BEFORE_SIGNING.includes(table) ? `${privilege} ${table}` : 'tables that decide no signature';
}

/** Values by type: as large, as late or as unrestricted as possible. */
function extremeOf(type: string): string {
  return `${EXTREMES[type] ?? "'x'"}::${type}`;
}

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

/** Values of inserted rows, which an update then changes to the extreme. */
const ORDINARY: Readonly<Record<string, string>> = {
  text: "'inserted'",
  'timestamp with time zone': 'now()',
  'text[]': "'{inserted}'",
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
    case 'pipelines':
    case 'company_decisions':
    case 'policy_uses':
    case 'batch_events':
      return sql`batch_id = any(${ids})`;
    case 'nonces':
      return sql`(batch_id = any(${ids}) or address in (select nonce_address from batches where id = any(${ids})))`;
    case 'tokens':
    case 'flywheels':
    case 'api_keys':
    case 'daily_amounts':
    case 'registrations':
      return sql`project_id in ${projects}`;
    default:
      return sql`true`;
  }
}

function insertsOf(columns: readonly Privilege[], { targets, donor }: Rows): Attack[] {
  const [first] = columns;
  if (!first) return [];
  const table = tableOf(first);
  const names = sql.join(columns.map(({ column }) => sql.id(column ?? '')));
  const privilege = describePrivilege(first);
  return targets.map((target, index) => {
    // An open batch: a row that has ended needs columns that an insert may not name.
    const source = ['batches', 'pipelines'].includes(table) ? target : donor;
    return {
      name: `${privilege} for target ${index}`,
      privileges: [privilege],
      round: roundOf(table, 'INSERT'),
      table,
      statement: sql`
        insert into ${sql.table(table)} (${names})
        select ${sql.join(columns.map((column) => insertedValue(column, target)))}
        from (select) as one
        left join (select * from ${sql.table(table)} where ${rowsOf(first, [source])} limit 1) as signed on true
      `,
    };
  });
}

/** The value of an inserted row: what names a target, what must differ from every other row, else that of the signed row. */
function insertedValue(given: Privilege, target: string): RawBuilder<unknown> {
  const name = given.column ?? '';
  const own = namingValue(tableOf(given), name, target);
  if (own !== null) return own;
  if (name === 'id' || name === 'idempotency_key') return sql`gen_random_uuid()`;
  if (given.type === 'text' && UNIQUE_TEXTS.includes(name)) return sql`gen_random_uuid()::text`;
  if (['signature', 'hash'].includes(name)) return sql`sha256(gen_random_uuid()::text::bytea)`;
  const signed = sql`signed.${sql.id(name)}`;
  return given.isNullable
    ? signed
    : sql`coalesce(${signed}, ${sql.raw(ORDINARY[given.type ?? ''] ?? extremeOf(given.type ?? 'text'))})`;
}

const UNIQUE_TEXTS = ['nonce', 'prefix', 'key', 'address', 'multisig', 'vault', 'event_id'];

/** Tables of which a project has one row, so that the row is one of a project of the thief's. */
const ONCE_A_PROJECT = ['tokens', 'flywheels', 'vault_balance_checks'];

/** The value of a column that names a target or a row that the thief has inserted for it; null for others. */
function namingValue(table: string, column: string, target: string): RawBuilder<unknown> | null {
  const ofTarget = (name: string) => sql`(select ${sql.id(name)} from batches where id = ${target})`;
  const fresh = (kind: string) => sql`${freshId(kind, target)}::uuid`;
  switch (`${table}.${column}`) {
    case 'projects.id':
      return fresh('project');
    case 'batches.id':
    case 'pipelines.batch_id':
      return fresh('batch');
    case 'batches.kind':
      return sql`'pipelines'`;
    case 'batches.batch_index':
      return sql`signed.batch_index + 1000`;
    case 'webhook_endpoints.id':
    case 'webhook_deliveries.endpoint_id':
      return fresh('endpoint');
    case 'daily_amounts.day':
      return sql`date '2099-01-01'`;
    case 'policy_uses.kind':
      return sql`'type'`;
    case 'company_changes.paused_at':
      return sql`coalesce((select paused_at from projects where id = ${ofTarget('project_id')}), now())`;
    // The row that is copied may be one of rules, and a row is about one thing.
    case 'company_changes.policy':
    case 'company_changes.policy_version':
      return sql`null`;
    case 'jobs.job_common.data':
      return sql`jsonb_set(signed.data, '{batchId}', to_jsonb(${target}::text))`;
    default:
      if (column === 'batch_id') return sql`${target}::uuid`;
      if (column === 'project_id' && ONCE_A_PROJECT.includes(table)) return fresh('project');
      return ['project_id', 'flywheel_id', 'token_id'].includes(column) ? ofTarget(column) : null;
  }
}

const freshIds = new Map<string, string>();

function freshId(kind: string, target: string): string {
  const key = `${kind} for ${target}`;
  const id = freshIds.get(key) ?? randomUUID();
  freshIds.set(key, id);
  return id;
}

function deletionOf(given: Privilege): Attack {
  const table = tableOf(given);
  const name = describePrivilege(given);
  return {
    name,
    privileges: [name],
    round: roundOf(table, 'DELETE'),
    table,
    statement: sql`delete from ${sql.table(table)}`,
  };
}
