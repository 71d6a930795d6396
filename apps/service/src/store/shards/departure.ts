import { sql } from 'kysely';
import { hasCode } from '../../model/has-code.ts';
import { areAllPaused } from '../company/pauses.ts';
import { isDatabaseUnavailable } from '../database-unavailable.ts';
import type { Db } from '../db.ts';
import { isOf } from '../jobs/lanes.ts';
import {
  BELONGINGS,
  type Belonging,
  CHANGE_NONCE,
  type MovedProject,
  type Rest,
  readColumns,
  type Transfer,
} from './belongings.ts';

/** A move whose rows have left this database. */
export interface Departure {
  readonly moveId: string;
  readonly destination: string;
  readonly departedAt: Date;
  readonly hasArrived: boolean;
  readonly multisig: string;
}

/** Finds the move by which a project has left this database; null if none has, or if the project came back. */
export async function findDeparture(db: Db, projectId: string): Promise<Departure | null> {
  const row = await db
    .selectFrom('project_moves')
    .select(['id', 'destination', 'departed_at', 'arrived_at', 'multisig'])
    .where('project_id', '=', projectId)
    .executeTakeFirst();
  if (!row) return null;
  const { id: moveId, destination, departed_at: departedAt, arrived_at, multisig } = row;
  return { moveId, destination, departedAt, hasArrived: arrived_at !== null, multisig };
}

/**
 * Refuses new work of a project for a time, by the database's clock: inits and executions are answered 503, and workers send
 * no further bundle.
 */
export async function refuseWork(db: Db, projectId: string, seconds: number): Promise<void> {
  await db
    .updateTable('projects')
    .set({ moving_until: sql`clock_timestamp() + ${seconds} * interval '1 second'` })
    .where('id', '=', projectId)
    .execute();
}

/** Ends the refusal before its time. */
export async function resumeWork(db: Db, projectId: string): Promise<void> {
  await db.updateTable('projects').set({ moving_until: null }).where('id', '=', projectId).execute();
}

/** Something of the project is at work, or was changed at this moment. Nothing has left, and the next attempt may succeed. */
export class NotDrained extends Error {
  constructor(what: string) {
    super(`It cannot leave while ${what}.`);
    this.name = 'NotDrained';
  }
}

/**
 * Takes all rows of a project out of its tables, except its settled batches, and keeps them in `departed_rows` until
 * the destination has them. From the commit of this transaction on nothing of the project is left here that a request
 * or a worker could find: without the project, nothing leads to its batches. PostgreSQL undoes the transaction if it
 * lasts longer than the project refuses work.
 *
 * Every statement sees what was committed before it (`read committed`), and the rows that others refer to are locked first: a
 * snapshot of the whole transaction would miss what was committed while it waited for these locks.
 *
 * A project that is discarded leaves at once: its rows say what was at work when the backup was made, and no worker would end it.
 * @throws NotDrained
 */
export async function depart(trx: Db, { moveId, destination, projectId, isDiscarded, rest }: Transfer): Promise<void> {
  const project = await lockRows(trx, projectId, rest);
  // Now that the project is locked, no worker ends a job because of a pause, and the jobs of a resumption leave with the others.
  if (!isDiscarded && (await areAllPaused(trx))) {
    throw new NotDrained('the company has paused all projects of the source');
  }
  await trx
    .insertInto('project_moves')
    .columns(['id', 'project_id', 'destination', 'multisig', 'key_prefixes'])
    .expression(
      sql`select ${moveId}::uuid, ${projectId}::uuid, ${destination}::uuid, ${project.multisig},
        array(select prefix from api_keys where project_id = ${projectId})`,
    )
    .execute();
  await resumeWork(trx, projectId);
  const [jobs, ...others] = BELONGINGS.toReversed();
  if (jobs === undefined) return;
  // A worker that had claimed one of them is seen below, and so is a job that it has returned or enqueued meanwhile; afterwards
  // none is left to be claimed.
  await takeOut(trx, moveId, project, jobs);
  if (isDiscarded) await deleteJobs(trx, project);
  else await requireDrained(trx, project);
  for (const belonging of others) await takeOut(trx, moveId, project, belonging);
}

/** Errors of PostgreSQL by which another transaction was first: a deadlock, or a row that refers to one which was to leave. */
const OVERTAKEN = ['40P01', '23503'];

/** Returns true if a departure was undone because another transaction was at work on the same rows. */
export function isOvertaken(error: unknown): boolean {
  return hasCode(error, ...OVERTAKEN);
}

/**
 * Returns true if PostgreSQL has undone a departure because the project resumes work (`transaction_timeout`). It closes the
 * connection then, so that the error is only that of a lost one.
 */
export async function isTooSlow(db: Db, projectId: string, error: unknown): Promise<boolean> {
  if (!isDatabaseUnavailable(error)) return false;
  const project = db.selectFrom('projects').select('id').where('id', '=', projectId);
  const isOver = sql<boolean>`moving_until <= clock_timestamp()`;
  return (await project.where(isOver).executeTakeFirst()) !== undefined;
}

/**
 * Locks the rows that others refer to, so that nothing is added, and ends the transaction when the project resumes work. Init and
 * workers lock the flywheel before the project too: in another order, a deadlock would end their transactions.
 */
async function lockRows(trx: Db, projectId: string, { indices, above }: Rest): Promise<MovedProject> {
  const { multisig } = await trx
    .selectFrom('flywheels')
    .select('multisig')
    .where('project_id', '=', projectId)
    .forUpdate()
    .executeTakeFirstOrThrow();
  const { rows } = await sql<{ left: number | null }>`
    select (extract(epoch from moving_until - clock_timestamp()) * 1000)::int as left
    from projects where id = ${projectId} for update
  `.execute(trx);
  const left = rows[0]?.left ?? 0;
  if (left <= 0) throw new Error('The project takes work again; nothing has left.');
  await sql`select set_config('transaction_timeout', ${String(left)}, true)`.execute(trx);
  const isMeant = sql`(batch_index > ${above} or batch_index = any(${indices.map(String)}::bigint[]))`;
  await sql`select from batches where project_id = ${projectId} and ${isMeant} order by id for update`.execute(trx);
  for (const table of ['api_keys', 'webhook_endpoints'] as const) {
    await sql`select from ${sql.table(table)} where project_id = ${projectId} order by id for update`.execute(trx);
  }
  return { projectId, multisig, isMeant };
}

async function requireDrained(trx: Db, { projectId, multisig, isMeant }: MovedProject): Promise<void> {
  const { rows } = await sql<{ what: string | null }>`
    select case
      when exists (
        select from jobs.job where name = 'batch' and ${isOf(multisig)} and state in ('created', 'retry', 'active', 'failed')
      ) then 'a worker runs a job of it'
      when exists (
        select from bundles join batches on batches.id = batch_id
        where project_id = ${projectId} and ${isMeant} and closed_at is null and state = 'sent'
      ) then 'a bundle is in flight'
      when exists (
        select from webhook_deliveries join webhook_endpoints on webhook_endpoints.id = endpoint_id
        where project_id = ${projectId} and lease is not null and leased_until > now()
      ) then 'a webhook is being delivered'
      when exists (
        select from company_changes where project_id = ${projectId}
          and not exists (select from company_reviews where change_id = company_changes.id)
      ) then 'a change by the company is being reviewed'
    end as what
  `.execute(trx);
  const what = rows[0]?.what ?? null;
  if (what !== null) throw new NotDrained(what);
}

/** Deletes the jobs of a multisig in every state. A run of one of them that goes on ends at its next write. */
async function deleteJobs(trx: Db, { multisig }: MovedProject): Promise<void> {
  await sql`delete from jobs.job where name = 'batch' and ${isOf(multisig)}`.execute(trx);
}

/** Moves rows to `departed_rows` as JSON, which PostgreSQL writes and reads itself: no amount passes through JavaScript. */
async function takeOut(
  trx: Db,
  moveId: string,
  project: MovedProject,
  { table, where, order, rowsOfPart }: Belonging,
): Promise<void> {
  const columns = sql.join((await readColumns(trx, table)).map(({ name }) => sql.ref(name)));
  const extra = table === 'company_reviews' ? CHANGE_NONCE : sql``;
  await sql`
    with gone as (
      delete from ${sql.table(table)} where ${where(project)} returning ${columns}${extra}
    ), numbered as (
      select (row_number() over (order by ${order}) - 1) / ${rowsOfPart}::int as part, row_to_json(gone) as row from gone
    )
    insert into departed_rows (move_id, table_name, part, rows)
    select ${moveId}, ${table}, part, json_agg(row) from numbered group by part
  `.execute(trx);
}
