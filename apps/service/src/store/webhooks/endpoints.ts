import type { DeliveryState, WebhookEventType, WebhookTopic } from '@flywheel/api';
import { type Selectable, sql } from 'kysely';
import { jsonObjectFrom } from 'kysely/helpers/postgres';
import type { Db } from '../db.ts';
import { WEBHOOKS_CHANNEL } from './queue-deliveries.ts';
import type { WebhookEndpointsTable } from './tables.ts';

/** A webhook endpoint of a project. */
export interface Endpoint {
  readonly id: string;
  readonly projectId: string;
  readonly url: string;
  readonly events: readonly WebhookTopic[];
  /** Version of the secret, which is derived from it; each rotation raises it. */
  readonly secretVersion: number;
  /** Until then the secret of the previous version signs too. */
  readonly previousSecretUntil: Date | null;
  readonly state: 'active' | 'disabled';
  readonly disabledReason: string | null;
  readonly createdAt: Date;
}

export type NewEndpoint = Pick<Endpoint, 'id' | 'projectId' | 'url' | 'events' | 'createdAt'>;

export async function insertEndpoint(db: Db, { id, projectId, url, events, createdAt }: NewEndpoint): Promise<void> {
  await db
    .insertInto('webhook_endpoints')
    .values({ id, project_id: projectId, url, events: [...events], created_at: createdAt })
    .execute();
}

export async function countEndpoints(db: Db, projectId: string): Promise<number> {
  const { count } = await db
    .selectFrom('webhook_endpoints')
    .select(({ fn }) => fn.countAll<bigint>().as('count'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Returns true if an endpoint of any project is active. */
export async function hasActiveEndpoint(db: Db): Promise<boolean> {
  const active = db.selectFrom('webhook_endpoints').select('id').where('state', '=', 'active').limit(1);
  return (await active.executeTakeFirst()) !== undefined;
}

/** State of the newest delivery of an endpoint. */
export interface NewestDelivery {
  readonly type: WebhookEventType;
  readonly state: DeliveryState;
  readonly status: number | null;
  readonly createdAt: Date;
}

/** Lists a project's endpoints, oldest first. */
export async function findEndpoints(
  db: Db,
  projectId: string,
): Promise<(Endpoint & { readonly newest: NewestDelivery | null })[]> {
  const rows = await db
    .selectFrom('webhook_endpoints')
    .select(ENDPOINT_COLUMNS)
    .select((eb) =>
      jsonObjectFrom(
        eb
          .selectFrom('webhook_deliveries')
          .select([
            'webhook_deliveries.type',
            'webhook_deliveries.state',
            'last_status',
            'webhook_deliveries.created_at',
          ])
          .whereRef('endpoint_id', '=', 'webhook_endpoints.id')
          .orderBy('webhook_deliveries.id', 'desc')
          .limit(1),
      ).as('newest'),
    )
    .where('project_id', '=', projectId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.map(({ newest, ...row }) => ({
    ...toEndpoint(row),
    newest: newest && {
      type: newest.type,
      state: newest.state,
      status: newest.last_status,
      createdAt: new Date(newest.created_at),
    },
  }));
}

export async function findEndpoint(db: Db, projectId: string, endpointId: string): Promise<Endpoint | null> {
  const row = await selectEndpoint(db, projectId, endpointId).executeTakeFirst();
  return row ? toEndpoint(row) : null;
}

/** Reads an endpoint like `findEndpoint` and locks it until the transaction ends. */
export async function lockEndpoint(trx: Db, projectId: string, endpointId: string): Promise<Endpoint | null> {
  const row = await selectEndpoint(trx, projectId, endpointId).forNoKeyUpdate().executeTakeFirst();
  return row ? toEndpoint(row) : null;
}

/** Updates an endpoint, and wakes those who deliver: it may have been enabled. */
export async function updateEndpoint(
  trx: Db,
  { id, url, events, state, disabledReason, secretVersion, previousSecretUntil }: Endpoint,
): Promise<void> {
  await trx
    .updateTable('webhook_endpoints')
    .set({
      url,
      events: [...events],
      state,
      disabled_reason: disabledReason,
      secret_version: secretVersion,
      previous_secret_until: previousSecretUntil,
    })
    .where('id', '=', id)
    .execute();
  await sql`select pg_notify(${WEBHOOKS_CHANNEL}, '')`.execute(trx);
}

/** Deletes an endpoint with all its deliveries. */
export async function deleteEndpoint(trx: Db, endpointId: string): Promise<void> {
  await trx.deleteFrom('webhook_endpoints').where('id', '=', endpointId).execute();
}

function selectEndpoint(db: Db, projectId: string, endpointId: string) {
  return db
    .selectFrom('webhook_endpoints')
    .select(ENDPOINT_COLUMNS)
    .where('id', '=', endpointId)
    .where('project_id', '=', projectId);
}

const ENDPOINT_COLUMNS = [
  ...(['id', 'project_id', 'url', 'events', 'secret_version', 'previous_secret_until'] as const),
  ...(['state', 'disabled_reason', 'created_at'] as const),
] as const;

function toEndpoint(row: Pick<Selectable<WebhookEndpointsTable>, (typeof ENDPOINT_COLUMNS)[number]>): Endpoint {
  return {
    id: row.id,
    projectId: row.project_id,
    url: row.url,
    events: row.events,
    secretVersion: row.secret_version,
    previousSecretUntil: row.previous_secret_until,
    state: row.state,
    disabledReason: row.disabled_reason,
    createdAt: row.created_at,
  };
}
