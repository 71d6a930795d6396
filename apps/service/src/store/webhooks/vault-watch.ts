import type { WebhookEvent } from '@flywheel/api';
import { sql } from 'kysely';
import { type Db, inTransaction } from '../db.ts';
import { queueDeliveries, WEBHOOKS_CHANNEL } from './queue-deliveries.ts';

/** Has somebody look at a project’s vault, where anybody wants to be told that it is low. */
export async function scheduleBalanceCheck(db: Db, projectId: string, at: Date): Promise<void> {
  await sql`
    with asked as (
      insert into vault_watch (project_id, look_at)
      select ${projectId}, ${at}::timestamptz
      where exists (
        select from webhook_endpoints
        where project_id = ${projectId} and state = 'active' and 'vault.low' = any(events)
      )
      on conflict (project_id) do update set look_at = excluded.look_at
      returning project_id
    )
    select pg_notify(${WEBHOOKS_CHANNEL}, '') from asked
  `.execute(db);
}

export interface DueVault {
  readonly projectId: string;
  /** Until then nobody else looks; from then on somebody does, unless this one has said what it saw. */
  readonly until: Date;
}

/** Vaults that somebody has to look at, the one asked for first before the others. Of two workers at once, each gets others. */
export async function claimDueVaults(
  db: Db,
  { now, until, limit }: { readonly now: Date; readonly until: Date; readonly limit: number },
): Promise<DueVault[]> {
  const { rows } = await sql<{ readonly project_id: string }>`
    update vault_watch set look_at = ${until}
    where project_id in (
      select project_id from vault_watch where look_at <= ${now} order by look_at limit ${limit} for update skip locked
    )
    returning project_id
  `.execute(db);
  return rows.map(({ project_id }) => ({ projectId: project_id, until }));
}

/** It holds enough: the next time that it does not is told again. */
export async function markVaultFilled(db: Db, { projectId, until }: DueVault): Promise<void> {
  await db
    .updateTable('vault_watch')
    .set({ told_at: null, look_at: stillAsked(until) })
    .where('project_id', '=', projectId)
    .execute();
}

/** It is low, which is told unless it was told after `toldBefore` and the vault has not been filled since. */
export async function emitVaultLow(
  db: Db,
  { projectId, until }: DueVault,
  { event, toldBefore }: { readonly event: WebhookEvent; readonly toldBefore: Date },
): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const { rows } = await sql<{ readonly is_news: boolean }>`
      with before as (select told_at from vault_watch where project_id = ${projectId} for update)
      update vault_watch set
        look_at = ${stillAsked(until)},
        told_at = case when before.told_at > ${toldBefore} then before.told_at else ${new Date(event.timestamp)} end
      from before
      where project_id = ${projectId}
      returning before.told_at is null or before.told_at <= ${toldBefore} as is_news
    `.execute(trx);
    const isNews = rows[0]?.is_news ?? false;
    if (isNews) await queueDeliveries(trx, projectId, event);
    return isNews;
  });
}

/** Who has asked meanwhile is looked at again. */
function stillAsked(until: Date) {
  return sql<Date | null>`case when look_at = ${until} then null else look_at end`;
}
