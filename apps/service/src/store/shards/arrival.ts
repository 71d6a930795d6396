import { sql } from 'kysely';
import { hasCode } from '../../model/has-code.ts';
import { areAllPaused } from '../company/pauses.ts';
import type { Db } from '../db.ts';
import { compareMigrations } from '../migrate.ts';
import { BELONGINGS, type Belonging, type NamedProject, type Transfer } from './belongings.ts';
import { CopiesMissing, hasWholePast, lockPast } from './past.ts';
import { storeRows } from './stored-rows.ts';
import { findMissingKey, type WorkerKey } from './worker-keys.ts';

type ArrivingMove = Omit<Transfer, 'destination' | 'rest'>;

/** Reads the identity of a shard's database, which it gets with its first move. */
export async function identifyShard(db: Db): Promise<string> {
  await db
    .insertInto('shard_identity')
    .defaultValues()
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return (await db.selectFrom('shard_identity').select('id').executeTakeFirstOrThrow()).id;
}

/**
 * Finds the reason for which a project cannot move from one database to another, a sentence; null for none.
 * @param keys of the project's multisig with which workers sign.
 */
export async function findMoveIssue(
  { from, to }: { readonly from: Db; readonly to: Db },
  {
    projectId,
    keys,
    isDiscarded,
  }: Pick<Transfer, 'projectId' | 'isDiscarded'> & { readonly keys: readonly WorkerKey[] },
): Promise<string | null> {
  for (const [db, name] of [
    [from, 'source'],
    [to, 'destination'],
  ] as const) {
    const { pending, unknown } = await compareMigrations(db);
    if (pending.length + unknown.length > 0) {
      return `The ${name} has the schema of another release. Upgrade both shards first.`;
    }
  }
  const there = (await findNamedProject(to, projectId)) !== null;
  if (isDiscarded) return there ? null : NOTHING_TO_DISCARD;
  if (there) return ALREADY_THERE;
  if (await areAllPaused(from)) return 'The company has paused all projects of the source. Resume them first.';
  const missing = await findMissingKey(to, keys);
  if (missing === null) return null;
  const [name, setting] =
    missing.role === 'operator' ? ['operator', 'OPERATOR_SIGNER'] : ['company approver', 'COMPANY_SIGNER'];
  return `The worker of the destination that started last does not have the key of the project’s ${name}, ${missing.address}. Start its workers with it as ${setting} or ${setting}_PREVIOUS first.`;
}

/** The reason for which a project does not move to where it is: nothing may be copied over what a shard works on. */
export const ALREADY_THERE =
  'The destination has the project already. If the source was restored from a backup made before the move, take it out with --discard.';

/** The reason for which a project is not discarded: what the source has, or keeps of an interrupted move, is the only copy. */
export const NOTHING_TO_DISCARD = 'The destination does not have the project, so nothing is discarded.';

/** Finds a project with the keys of its multisig with which workers sign; null if it is not here. */
export async function findNamedProject(
  db: Db,
  projectId: string,
): Promise<(NamedProject & { readonly keys: readonly WorkerKey[] }) | null> {
  const row = await db
    .selectFrom('flywheels')
    .select(['multisig', 'operator', 'company'])
    .where('project_id', '=', projectId)
    .executeTakeFirst();
  if (!row) return null;
  const { multisig, operator, company } = row;
  const keys = [
    { role: 'operator', address: operator },
    { role: 'company', address: company },
  ] as const;
  return { projectId, multisig, keys };
}

/**
 * Stores the rows of a move in this transaction, once: a move that has arrived before changes nothing. The project
 * lives here from its commit on, with the batches that were copied ahead.
 * @param from the database that the rows have left, or the transaction in which they leave.
 * @param isDiscarded forgets the rows instead: this database has the project already.
 * @throws CopiesMissing
 */
export async function arrive(trx: Db, from: Db, { moveId, projectId, isDiscarded }: ArrivingMove): Promise<void> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('project_arrivals')
    .values({ move_id: moveId })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows !== 1n || isDiscarded) return;
  await lockPast(trx, projectId);
  if (!(await hasWholePast({ from, to: trx }, projectId))) throw new CopiesMissing();
  // It may have left from here once, and comes back.
  await trx.deleteFrom('project_moves').where('project_id', '=', projectId).execute();
  for (const belonging of BELONGINGS) await putIn(trx, from, moveId, belonging);
  await sql`set constraints all immediate`.execute(trx);
  await countEventsOn(trx, from);
}

/** Returns true if this database has stored the rows of a move. */
export async function isStored(db: Db, moveId: string): Promise<boolean> {
  const row = await db
    .selectFrom('project_arrivals')
    .select('move_id')
    .where('move_id', '=', moveId)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Returns true if a shard was the source or the destination of a move before a time. A database that is restored from a
 * backup made before its first move was not.
 */
export async function hasMovedBefore(db: Db, time: Date): Promise<boolean> {
  const { rows } = await sql<{ moved: boolean }>`
    select exists (select from project_arrivals where arrived_at < ${time})
      or exists (select from project_moves where departed_at < ${time}) as moved
  `.execute(db);
  return rows[0]?.moved === true;
}

/** Lets a move whose rows have left, and have not arrived, go on to another database. */
export async function redirectMove(db: Db, moveId: string, destination: string): Promise<void> {
  await db
    .updateTable('project_moves')
    .set({ destination })
    .where('id', '=', moveId)
    .where('arrived_at', 'is', null)
    .execute();
}

/** Stores the rows of a move that was interrupted after they had left. */
export async function arriveLater(
  { from, to }: { readonly from: Db; readonly to: Db },
  move: ArrivingMove,
): Promise<void> {
  await to.transaction().execute((trx) => arrive(trx, from, move));
}

/** Records that the destination has all rows of a move, and forgets them. */
export async function recordArrival(db: Db, moveId: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await trx.updateTable('project_moves').set({ arrived_at: sql`now()` }).where('id', '=', moveId).execute();
    await trx.deleteFrom('departed_rows').where('move_id', '=', moveId).execute();
  });
}

async function putIn(trx: Db, from: Db, moveId: string, belonging: Belonging): Promise<void> {
  for (let part = 0; ; part += 1) {
    const [found] = await readPart(from, { moveId, table: belonging.table, part });
    if (found === undefined) return;
    await storeRows(trx, belonging, found.rows);
  }
}

/** Rows are read as text: a driver that parses numbers would round amounts. */
async function readPart(
  from: Db,
  { moveId, table, part }: { readonly moveId: string; readonly table: string; readonly part: number },
) {
  const { rows } = await sql<{ rows: string }>`
    select rows::text as rows from departed_rows
    where move_id = ${moveId} and table_name = ${table} and part = ${part}
  `.execute(from);
  return rows;
}

/** Returns true if an arrival was undone because another transaction, such as that of another move, kept `batch_events` in use. */
export function isInUse(error: unknown): boolean {
  return hasCode(error, '55P03');
}

/**
 * Raises the sequence of event ids to the source's last id. The table is locked meanwhile, so that no other transaction takes
 * one of the ids in between. The lock is not awaited for long: every project's events wait behind it, and a project that leaves
 * in the other direction may wait for this arrival.
 */
async function countEventsOn(trx: Db, from: Db): Promise<void> {
  const { rows } = await sql<{ last: bigint | null }>`
    select pg_sequence_last_value(pg_get_serial_sequence('batch_events', 'id')::regclass) as last
  `.execute(from);
  const last = rows[0]?.last ?? 0n;
  await sql`set local lock_timeout = '500ms'`.execute(trx);
  await sql`lock table batch_events in share row exclusive mode`.execute(trx);
  await sql`
    select setval(sequence, ${last}::bigint)
    from (select pg_get_serial_sequence('batch_events', 'id')::regclass as sequence) events
    where ${last}::bigint > coalesce(pg_sequence_last_value(sequence), 0)
  `.execute(trx);
}
