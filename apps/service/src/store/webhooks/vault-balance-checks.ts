import type { WebhookEvent } from '@flywheel/api';
import { type RawBuilder, sql } from 'kysely';
import { type Db, inTransaction } from '../db.ts';
import { queueDeliveries, WEBHOOKS_CHANNEL } from './queue-deliveries.ts';

/** Schedules a check of a project's vault balance, if one of the project's webhooks wants `vault.low`. */
export async function scheduleBalanceCheck(db: Db, projectId: string, at: Date): Promise<void> {
  await sql`
    with scheduled as (
      insert into vault_balance_checks (project_id, next_check_at)
      select ${projectId}, ${at}::timestamptz
      where exists (
        select from webhook_endpoints
        where project_id = ${projectId} and state = 'active' and 'vault.low' = any(events)
      )
      on conflict (project_id) do update set next_check_at = excluded.next_check_at
      returning project_id
    )
    select pg_notify(${WEBHOOKS_CHANNEL}, '') from scheduled
  `.execute(db);
}

export interface ClaimedVault {
  readonly projectId: string;
  /** No other worker claims the vault before this time. Afterwards it is due again, unless a result was recorded. */
  readonly claimedUntil: Date;
}

/** Claims vaults whose check is due, the most overdue first. Concurrent workers claim different vaults. */
export async function claimDueVaults(
  db: Db,
  { now, claimedUntil, limit }: { readonly now: Date; readonly claimedUntil: Date; readonly limit: number },
): Promise<ClaimedVault[]> {
  const { rows } = await sql<{ readonly project_id: string }>`
    update vault_balance_checks set next_check_at = ${claimedUntil}
    where project_id in (
      select project_id from vault_balance_checks where next_check_at <= ${now}
      order by next_check_at limit ${limit} for update skip locked
    )
    returning project_id
  `.execute(db);
  return rows.map(({ project_id }) => ({ projectId: project_id, claimedUntil }));
}

/** Records that a vault holds enough: the next time it is low, an event is emitted at once. */
export async function recordVaultSufficient(db: Db, { projectId, claimedUntil }: ClaimedVault): Promise<void> {
  await db
    .updateTable('vault_balance_checks')
    .set({ notified_at: null, next_check_at: nextCheckAfter(claimedUntil, sql`null::timestamptz`) })
    .where('project_id', '=', projectId)
    .execute();
}

/**
 * Records that a vault is low and emits an event, unless one was emitted less than `repeatAfterMs` ago and the vault has not
 * been sufficient since. The vault is due again when the next event may be emitted. Returns true if the event was emitted.
 */
export async function emitVaultLow(
  db: Db,
  { projectId, claimedUntil }: ClaimedVault,
  { event, repeatAfterMs }: { readonly event: WebhookEvent; readonly repeatAfterMs: number },
): Promise<boolean> {
  const at = new Date(event.timestamp);
  const repeatBefore = new Date(at.getTime() - repeatAfterMs);
  return inTransaction(db, async (trx) => {
    const { rows } = await sql<{ readonly is_emitted: boolean }>`
      with before as (
        select is_emitted, case when is_emitted then ${at} else notified_at end as notified_at
        from vault_balance_checks
        cross join lateral (select notified_at is null or notified_at <= ${repeatBefore} as is_emitted) due
        where project_id = ${projectId} for update of vault_balance_checks
      )
      update vault_balance_checks set
        next_check_at = ${nextCheckAfter(claimedUntil, sql`before.notified_at + ${repeatAfterMs} * interval '1 ms'`)},
        notified_at = before.notified_at
      from before
      where project_id = ${projectId}
      returning before.is_emitted
    `.execute(trx);
    const isEmitted = rows[0]?.is_emitted ?? false;
    if (isEmitted) await queueDeliveries(trx, projectId, event);
    return isEmitted;
  });
}

/** Keeps a check that was scheduled while this one ran. */
function nextCheckAfter(claimedUntil: Date, otherwise: RawBuilder<Date | null>) {
  return sql<Date | null>`case when next_check_at = ${claimedUntil} then ${otherwise} else next_check_at end`;
}
