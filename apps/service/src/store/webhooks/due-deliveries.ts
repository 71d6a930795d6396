import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { type Db, inTransaction } from '../db.ts';

/** An attempt that this process has claimed. */
export interface DueDelivery {
  readonly id: bigint;
  readonly endpointId: string;
  readonly url: string;
  readonly secretVersion: number;
  readonly previousSecretUntil: Date | null;
  readonly eventId: string;
  readonly type: string;
  readonly payload: string;
  /** Attempts since the last request for delivery, this one included. */
  readonly tries: number;
  readonly lease: string;
}

/** Simultaneous requests per receiver, over all workers, so that a receiver that hangs does not delay others. */
export const MAX_AT_ONCE_PER_ENDPOINT = 2;

export interface ClaimDueDeliveries {
  readonly now: Date;
  /** From then on another worker may repeat the attempt, because this one is dead. */
  readonly leasedUntil: Date;
  readonly limit: number;
}

/**
 * Claims due deliveries, the endpoints in turn, so that a long queue of one delays no other. No two workers get the same
 * delivery while its lease lasts.
 */
export async function claimDueDeliveries(
  db: Db,
  { now, leasedUntil, limit }: ClaimDueDeliveries,
): Promise<DueDelivery[]> {
  const lease = randomUUID();
  return inTransaction(db, async (trx) => {
    const endpoints = await lockDueEndpoints(trx, { now, limit });
    if (endpoints.length === 0) return [];
    // A separate statement sees what others leased before they released the endpoints.
    const { rows } = await sql<DueDelivery>`
      with picked as (
        select endpoint.id as endpoint_id, due.id from unnest(${endpoints}::uuid[]) as endpoint (id)
        cross join lateral (
          select id from webhook_deliveries
          where endpoint_id = endpoint.id and state = 'waiting' and next_attempt_at <= ${now}
            and (leased_until is null or leased_until <= ${now})
          order by next_attempt_at, id
          limit greatest(0, ${MAX_AT_ONCE_PER_ENDPOINT} - (
            select count(*) from webhook_deliveries
            where endpoint_id = endpoint.id and lease is not null and leased_until > ${now}
          ))
          for update skip locked
        ) due
        limit ${limit}
      )
      update webhook_deliveries set
        lease = ${lease}, leased_until = ${leasedUntil}, last_attempt_at = ${now},
        attempts = attempts + 1, tries = tries + 1
      from picked, webhook_endpoints endpoint
      where webhook_deliveries.endpoint_id = picked.endpoint_id and webhook_deliveries.id = picked.id
        and endpoint.id = picked.endpoint_id
      returning webhook_deliveries.id, webhook_deliveries.endpoint_id as "endpointId", url, secret_version as "secretVersion",
        previous_secret_until as "previousSecretUntil", event_id as "eventId", type, payload, tries, lease
    `.execute(trx);
    // An endpoint for whose deliveries the limit left no place keeps its turn.
    const attempted = [...new Set(rows.map(({ endpointId }) => endpointId))];
    if (attempted.length > 0) {
      await trx.updateTable('webhook_endpoints').set({ last_attempt_at: now }).where('id', 'in', attempted).execute();
    }
    return rows;
  });
}

/** Time at which the next delivery that is not yet due becomes due; null if none waits. */
export async function findNextDue(db: Db, now: Date): Promise<Date | null> {
  const { rows } = await sql<{ readonly next: Date | null }>`
    select min(due.next_attempt_at) as next
    from webhook_endpoints endpoint
    cross join lateral (
      select next_attempt_at from webhook_deliveries
      where endpoint_id = endpoint.id and state = 'waiting' and next_attempt_at > ${now}
      order by next_attempt_at limit 1
    ) due
    where endpoint.state = 'active'
  `.execute(db);
  return rows[0]?.next ?? null;
}

/**
 * Reads for how long the active endpoint that waits longest has had a due delivery without an attempt at any, in seconds. A receiver
 * that hangs is attempted again and again, so only a lack of workers that send makes it long.
 */
export async function readDeliveryLag(db: Db, now: Date): Promise<number> {
  const { rows } = await sql<{ readonly seconds: number }>`
    select coalesce(
      max(extract(epoch from ${now}::timestamptz - greatest(due.next_attempt_at, endpoint.last_attempt_at))), 0
    )::float8 as seconds
    from webhook_endpoints endpoint
    cross join lateral (
      select next_attempt_at from webhook_deliveries
      where endpoint_id = endpoint.id and state = 'waiting' and next_attempt_at <= ${now}
      order by next_attempt_at limit 1
    ) due
    where endpoint.state = 'active'
  `.execute(db);
  return Math.max(0, rows[0]?.seconds ?? 0);
}

/** Result of an attempt; `gone` if the receiver answered 410. */
export type DeliveryOutcome = {
  readonly status: number | null;
  /** Beginning of the receiver's response. */
  readonly response: string | null;
} & (
  | { readonly kind: 'delivered' }
  | { readonly kind: 'gone'; readonly error: string }
  /** `retryAt` is null if the delivery is exhausted. */
  | { readonly kind: 'rejected'; readonly error: string; readonly retryAt: Date | null }
);

/**
 * Stores the outcome of an attempt. @returns false, and stores nothing, if the lease has expired and another worker has the
 * delivery, or if its endpoint is deleted.
 */
export async function settleDelivery(
  db: Db,
  { id, endpointId, url, lease }: Pick<DueDelivery, 'id' | 'endpointId' | 'url' | 'lease'>,
  answered: DeliveryOutcome,
  now: Date,
): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    // The endpoint is locked first, as in its deletion.
    const isMoved = answered.kind === 'gone' && !(await disable(trx, { endpointId, url }, answered.error));
    const outcome = isMoved ? ({ ...answered, kind: 'rejected', retryAt: now } as const) : answered;
    const { numUpdatedRows } = await trx
      .updateTable('webhook_deliveries')
      .set({
        ...stateAfter(outcome, now),
        lease: null,
        leased_until: null,
        last_status: outcome.status,
        last_response: outcome.response,
        last_error: outcome.kind === 'delivered' ? null : outcome.error,
      })
      .where('endpoint_id', '=', endpointId)
      .where('id', '=', id)
      .where('lease', '=', lease)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  });
}

/** Releases an attempt that was aborted: the first free worker repeats it at once. */
export async function releaseDelivery(
  db: Db,
  { id, endpointId, lease }: Pick<DueDelivery, 'id' | 'endpointId' | 'lease'>,
  now: Date,
): Promise<void> {
  await db
    .updateTable('webhook_deliveries')
    .set({ lease: null, leased_until: null, next_attempt_at: now, tries: sql`greatest(0, tries - 1)` })
    .where('endpoint_id', '=', endpointId)
    .where('id', '=', id)
    .where('lease', '=', lease)
    .execute();
}

async function lockDueEndpoints(trx: Db, { now, limit }: Pick<ClaimDueDeliveries, 'now' | 'limit'>): Promise<string[]> {
  const { rows } = await sql<{ readonly id: string }>`
    select id from webhook_endpoints endpoint
    where state = 'active'
      -- Otherwise a receiver that hangs would keep its project from leaving.
      and not exists (
        select from projects where projects.id = endpoint.project_id and moving_until > clock_timestamp()
      )
      and exists (
        select from webhook_deliveries
        where endpoint_id = endpoint.id and state = 'waiting' and next_attempt_at <= ${now}
          and (leased_until is null or leased_until <= ${now})
      )
      and ${MAX_AT_ONCE_PER_ENDPOINT} > (
        select count(*) from webhook_deliveries
        where endpoint_id = endpoint.id and lease is not null and leased_until > ${now}
      )
    order by last_attempt_at nulls first
    limit ${limit}
    for no key update skip locked
  `.execute(trx);
  return rows.map(({ id }) => id);
}

/** Disables an endpoint whose receiver has unsubscribed. @returns false, and changes nothing, if it has another URL by now. */
async function disable(
  trx: Db,
  { endpointId, url }: Pick<DueDelivery, 'endpointId' | 'url'>,
  reason: string,
): Promise<boolean> {
  const row = await trx
    .selectFrom('webhook_endpoints')
    .select('url')
    .where('id', '=', endpointId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (row && row.url !== url) return false;
  await trx
    .updateTable('webhook_endpoints')
    .set({ state: 'disabled', disabled_reason: reason })
    .where('id', '=', endpointId)
    .where('state', '=', 'active')
    .execute();
  return true;
}

function stateAfter(outcome: DeliveryOutcome, now: Date) {
  switch (outcome.kind) {
    case 'delivered':
      return { state: 'delivered', delivered_at: now } as const;
    case 'gone':
      return { state: 'failed' } as const;
    case 'rejected':
      return outcome.retryAt === null
        ? ({ state: 'failed' } as const)
        : ({ state: 'waiting', next_attempt_at: outcome.retryAt } as const);
    default:
      throw outcome satisfies never;
  }
}
