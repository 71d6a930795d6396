import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../db.ts';

/** What a batch takes of the cap of a recipient or a proof type. */
export interface PolicyUse {
  readonly kind: 'recipient' | 'type';
  /** The recipient's address, or the type. */
  readonly subject: string;
  readonly baseUnits: bigint;
}

/** Key of a recipient or type in the sums of a day. */
export function useKey({ kind, subject }: Pick<PolicyUse, 'kind' | 'subject'>): string {
  return `${kind} ${subject}`;
}

interface BatchOfDay {
  readonly batchId: string;
  readonly projectId: string;
  /** The UTC day, `2026-11-21`. */
  readonly day: string;
}

/**
 * Counts a batch for its recipients and types, and reads what the others of the day have used, in one statement. The sums are
 * exact while the caller holds the lock of the project's flywheel; a caller that refuses the batch must roll back.
 * @returns sums by `useKey`, without this batch.
 */
export async function countPolicyUses(
  trx: Db,
  { batchId, projectId, day }: BatchOfDay,
  uses: readonly PolicyUse[],
): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await sql<{ key: string; used: bigint }>`
    with asked as (select * from ${unnestUses(uses)}), counted as (
      insert into policy_uses (batch_id, project_id, day, kind, subject, amount)
      select ${batchId}::uuid, ${projectId}::uuid, ${day}::date, kind, subject, amount from asked
    )
    ${selectUsed({ projectId, day, exceptId: null })}
  `.execute(trx);
  return toSums(rows);
}

/** Reads what the batches of a day have used, by `useKey`, without one of them if `exceptId` names it. */
export async function findPolicyUses(
  db: Db,
  { projectId, day }: Omit<BatchOfDay, 'batchId'>,
  uses: readonly PolicyUse[],
  exceptId: string | null = null,
): Promise<ReadonlyMap<string, bigint>> {
  if (uses.length === 0) return new Map();
  const { rows } = await sql<{ key: string; used: bigint }>`
    with asked as (select * from ${unnestUses(uses)}) ${selectUsed({ projectId, day, exceptId })}
  `.execute(db);
  return toSums(rows);
}

/** Gives back what a batch has counted and not executed. Does nothing for a batch that was not counted. */
export async function releasePolicyUses(trx: Db, batchId: string, uses: readonly PolicyUse[]): Promise<void> {
  if (uses.length === 0) return;
  await sql`
    update policy_uses set amount = policy_uses.amount - asked.amount from ${unnestUses(uses)}
    where policy_uses.batch_id = ${batchId} and policy_uses.kind = asked.kind and policy_uses.subject = asked.subject
  `.execute(trx);
}

/** Rows `asked (kind, subject, amount)`. The arrays keep the statement the same for every number of them. */
export function unnestUses(uses: readonly PolicyUse[]): RawBuilder<unknown> {
  const kinds = uses.map(({ kind }) => kind);
  const subjects = uses.map(({ subject }) => subject);
  const amounts = uses.map(({ baseUnits }) => String(baseUnits));
  return sql`unnest(${sql.val(kinds)}::text[], ${sql.val(subjects)}::text[], ${sql.val(amounts)}::numeric[])
    as asked (kind, subject, amount)`;
}

interface Counted extends Omit<BatchOfDay, 'batchId'> {
  readonly exceptId: string | null;
}

/** Looks each recipient and type up: a join would read all uses of the day. */
function selectUsed({ projectId, day, exceptId }: Counted): RawBuilder<unknown> {
  return sql`
    select asked.kind || ' ' || asked.subject as key, coalesce((
      select sum(uses.amount) from policy_uses uses
      where uses.project_id = ${projectId} and uses.day = ${day} and uses.kind = asked.kind and uses.subject = asked.subject
        and uses.batch_id is distinct from ${exceptId}::uuid
    ), 0) as used
    from asked
  `;
}

function toSums(rows: readonly { readonly key: string; readonly used: bigint }[]): ReadonlyMap<string, bigint> {
  return new Map(rows.map(({ key, used }) => [key, used]));
}
