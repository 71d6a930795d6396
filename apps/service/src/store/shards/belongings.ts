import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../db.ts';
import { isOf } from '../jobs/lanes.ts';
import type { Schema } from '../schema.ts';

/** A move of a project from this shard to another. */
export interface Transfer {
  readonly moveId: string;
  readonly projectId: string;
  /** Identity of the shard that it moves to. */
  readonly destination: string;
  /** True if the destination has the project already, and what the source has is not needed. */
  readonly isDiscarded: boolean;
  /** The batches that were not copied ahead. */
  readonly rest: Rest;
}

/** Batches that move while the project refuses work: some that were not settled, by their indices, and all later ones. */
export interface Rest {
  readonly indices: readonly bigint[];
  readonly above: bigint;
}

/** A project as its rows name it. */
export interface NamedProject {
  readonly projectId: string;
  readonly multisig: string;
}

/** A project, and those of its batches that are meant. */
export interface MovedProject extends NamedProject {
  /** A condition on the column `batch_index`. */
  readonly isMeant: RawBuilder<unknown>;
}

/** The rows of one table that move with a project. */
export interface Belonging {
  readonly table: string;
  readonly where: (project: MovedProject) => RawBuilder<unknown>;
  /** Columns in whose order they are stored again: the numbers that the other database gives them have this order. */
  readonly order: RawBuilder<unknown>;
  /** True if the numbers of its rows stay: a reader of events continues after the last one that it has seen. */
  readonly keepsIds: boolean;
  /** True if its rows change with their batch only, so that those of settled batches are copied ahead. */
  readonly isPast: boolean;
  /** Rows that move as one JSON text of some megabytes. */
  readonly rowsOfPart: number;
}

const ANY = sql`1`;
const ofProject = (order = ANY) => rowsOf(({ projectId }) => sql`project_id = ${projectId}`, order);
const batchesOf = ({ projectId, isMeant }: MovedProject) => sql`project_id = ${projectId} and ${isMeant}`;
const ofBatches = (order = ANY) => ({
  ...rowsOf((project) => sql`batch_id in (select id from batches where ${batchesOf(project)})`, order),
  isPast: true,
});
const ofMultisig = (order = ANY) => rowsOf(({ multisig }) => sql`multisig = ${multisig}`, order);

const STAYS = 'stays';

/**
 * Rows of each table that move with a project. Rows that others refer to come first. A new table without an entry does not
 * compile. Rows that stay belong to the deployment: people sign in to each shard, each shard counts its own limits of requests,
 * and its pause of all projects and the free nonces of its operator are its own.
 */
const TABLES: { readonly [T in keyof Schema]: Omit<Belonging, 'table'> | typeof STAYS } = {
  projects: rowsOf(({ projectId }) => sql`id = ${projectId}`, sql`id`),
  tokens: ofProject(),
  proof_types: ofProject(),
  flywheels: ofProject(),
  // A replaced key names its successor.
  api_keys: ofProject(sql`created_at desc`),
  registrations: ofProject(),
  batches: { ...rowsOf(batchesOf, sql`batch_index`), isPast: true },
  pipelines: ofBatches(sql`batch_id, position`),
  batch_archives: { ...ofBatches(), rowsOfPart: 10 },
  bundles: ofBatches(sql`id`),
  ledger_entries: ofBatches(sql`id`),
  created_token_accounts: ofBatches(),
  held_recipients: ofProject(),
  daily_amounts: ofProject(),
  daily_spending: ofProject(),
  // They are deleted after their day.
  policy_uses: ofProject(),
  // Triggers sum up again what arrives.
  policy_sums: STAYS,
  // A batch that waits for its approval keeps its nonce, which both shards' operator may advance.
  nonces: { ...ofBatches(), isPast: false },
  batch_events: { ...ofBatches(sql`id`), keepsIds: true },
  company_decisions: ofBatches(sql`id`),
  company_changes: ofProject(sql`id`),
  company_reviews: rowsOf(
    ({ projectId }) => sql`change_id in (select id from company_changes where project_id = ${projectId})`,
    sql`change_id`,
  ),
  company_terms: ofMultisig(),
  company_pauses: ofMultisig(),
  company_totals: {
    ...rowsOf(({ multisig, isMeant }) => sql`multisig = ${multisig} and ${isMeant}`, sql`batch_index`),
    isPast: true,
  },
  company_rejections: ofMultisig(),
  company_admissions: ofMultisig(),
  company_policies: ofMultisig(),
  company_uses: ofMultisig(),
  // An entry may have 1.5 MB.
  audit_log: { ...ofProject(sql`id`), rowsOfPart: 10 },
  webhook_endpoints: ofProject(),
  webhook_deliveries: rowsOf(
    ({ projectId }) => sql`endpoint_id in (select id from webhook_endpoints where project_id = ${projectId})`,
    sql`id`,
  ),
  vault_balance_checks: ofProject(),
  non_wallets: STAYS,
  nonce_waiters: STAYS,
  sign_in_challenges: STAYS,
  sessions: STAYS,
  rate_limits: STAYS,
  company: STAYS,
  key_successions: STAYS,
  schema_compatibility: STAYS,
  shard_identity: STAYS,
  project_moves: STAYS,
  departed_rows: STAYS,
  project_arrivals: STAYS,
  flywheel_owners: STAYS,
  worker_keys: STAYS,
};

/** The jobs of a project that wait, or wait to be repeated. None runs when a project departs. */
const JOBS: Belonging = {
  table: 'jobs.job',
  ...rowsOf(
    ({ multisig }) => sql`name = 'batch' and ${isOf(multisig)} and state in ('created', 'retry', 'failed')`,
    sql`created_on, id`,
  ),
};

/** The rows that move with a project, in the order in which another database can store it. */
export const BELONGINGS: readonly Belonging[] = [
  ...Object.entries(TABLES).flatMap(([table, rows]) => (rows === STAYS ? [] : [{ table, ...rows }])),
  JOBS,
];

function rowsOf(where: Belonging['where'], order: RawBuilder<unknown>): Omit<Belonging, 'table'> {
  return { where, order, keepsIds: false, isPast: false, rowsOfPart: 500 };
}

/** A review names its change by a number, which is another one in the other database. The nonce of a change is unique in both. */
export const CHANGE_NONCE = sql`, (select nonce from company_changes where id = change_id) as change_nonce`;

export interface Column {
  readonly name: string;
  /** True if the database numbers the rows with it. */
  readonly isIdentity: boolean;
}

/** Reads the columns of a table that a statement can write. */
export async function readColumns(db: Db, table: string): Promise<Column[]> {
  const { rows } = await sql<Column>`
    select attname as name, attidentity <> '' as "isIdentity" from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = ''
    order by attnum
  `.execute(db);
  return rows;
}
