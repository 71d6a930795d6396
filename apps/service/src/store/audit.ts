import type { AuditAction } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { type Selectable, sql } from 'kysely';
import type { Db } from './db.ts';
import type { Schema } from './schema.ts';

/** An entry of the audit log, written in the transaction of the action. */
export interface NewAuditEntry {
  readonly at: Date;
  readonly actor: Address;
  readonly action: AuditAction;
  readonly projectId?: string;
  readonly batchId?: string;
  /** Id of the key, job or webhook that the action concerned. */
  readonly subject?: string;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly reason?: string;
}

export type AuditRecord = Selectable<Schema['audit_log']>;

/** Writes an entry. @param trx the transaction of the action. */
export async function insertAuditEntry(trx: Db, entry: NewAuditEntry): Promise<void> {
  const { at, actor, action, projectId, batchId, subject, before, after, reason } = entry;
  await trx
    .insertInto('audit_log')
    .values({
      at,
      actor,
      action,
      project_id: projectId ?? null,
      batch_id: batchId ?? null,
      subject: subject ?? null,
      before: before === undefined ? null : JSON.stringify(before),
      after: after === undefined ? null : JSON.stringify(after),
      reason: reason ?? null,
    })
    .execute();
}

interface AuditQuery {
  /** Null for all projects. */
  readonly projectId: string | null;
  /** The entry after which the page begins; null for the first page. */
  readonly below: Pick<AuditRecord, 'id' | 'at'> | null;
  readonly limit: number;
}

/**
 * The values that an action has changed. Those of one entry may have 1.5 MB: proof types have up to 768 KiB, before and
 * after.
 */
export type AuditValues = Pick<AuditRecord, 'before' | 'after'>;

/**
 * Reads a page of entries without their values, newest first: those of one project by their ids, for which there is an
 * index. A project that has moved here has brought old entries with new ids, so that only their times order the entries of
 * several projects.
 */
export async function findAuditEntries(
  db: Db,
  { projectId, below, limit }: AuditQuery,
): Promise<Omit<AuditRecord, keyof AuditValues>[]> {
  return db
    .selectFrom('audit_log')
    .select(['id', 'at', 'actor', 'action', 'project_id', 'batch_id', 'subject', 'reason'])
    .$if(projectId !== null, (query) => query.where('project_id', '=', projectId))
    .$if(projectId !== null && below !== null, (query) => query.where(sql<boolean>`id < ${below?.id}`))
    .$if(projectId === null && below !== null, (query) =>
      query.where(sql<boolean>`(at, id) < (${below?.at}, ${below?.id})`),
    )
    .$if(projectId === null, (query) => query.orderBy('at', 'desc'))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

/** The values of an entry, with the bytes of JSON that they have together with those before them. */
export interface SizedAuditValues extends AuditValues {
  readonly bytes: number;
}

/**
 * Reads the values of the first of these entries, in their order: of as many as have room in these bytes, and of one at least if
 * one is needed. An entry that has left with its project meanwhile has none.
 */
export async function findAuditValues(
  db: Db,
  ids: readonly bigint[],
  { bytes, isOneNeeded }: { readonly bytes: number; readonly isOneNeeded: boolean },
): Promise<readonly SizedAuditValues[]> {
  const { rows } = await sql<SizedAuditValues>`
    select before, after, bytes
    from (
      select place, before, after, sum(
        coalesce(octet_length(before::text), 0) + coalesce(octet_length(after::text), 0)
      ) over (order by place)::integer as bytes
      from unnest(${ids.map(String)}::bigint[]) with ordinality as asked (id, place) left join audit_log using (id)
    ) as sized
    where bytes <= ${bytes} or (${isOneNeeded} and place = 1)
    order by place
  `.execute(db);
  return rows;
}

/** Reads the place of an entry in the order of the log; undefined if there is none, or it has left with its project. */
export async function findAuditPlace(db: Db, id: bigint): Promise<Pick<AuditRecord, 'id' | 'at'> | undefined> {
  return db.selectFrom('audit_log').select(['id', 'at']).where('id', '=', id).executeTakeFirst();
}

interface AuditCount {
  readonly projectId: string;
  readonly action: AuditAction;
  /** Earlier entries do not count. */
  readonly since: Date;
  readonly count: number;
}

/** Reads when the `count`-th newest entry of an action in a project was written; undefined if there are fewer. */
export async function findAuditTime(
  db: Db,
  { projectId, action, since, count }: AuditCount,
): Promise<Date | undefined> {
  const row = await db
    .selectFrom('audit_log')
    .select('at')
    .where('project_id', '=', projectId)
    .where('action', '=', action)
    .where('at', '>', since)
    .orderBy('at', 'desc')
    .offset(count - 1)
    .limit(1)
    .executeTakeFirst();
  return row?.at;
}
