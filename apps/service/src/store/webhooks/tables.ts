import type { DeliveryState, WebhookEventType, WebhookTopic } from '@flywheel/api';
import type { ColumnType, Generated } from 'kysely';

/** The tables of webhooks, as migrations/ leaves them. */
export interface WebhookTables {
  webhook_endpoints: WebhookEndpointsTable;
  webhook_deliveries: WebhookDeliveriesTable;
}

/** When the database stored a row, by its own clock: its partition. */
export type RecordedAt = ColumnType<Date, never, Date>;

export interface WebhookEndpointsTable {
  id: string;
  project_id: string;
  url: string;
  events: WebhookTopic[];
  secret_version: Generated<number>;
  /** Until then the secret of the previous version signs too. */
  previous_secret_until: Date | null;
  state: Generated<'active' | 'disabled'>;
  disabled_reason: string | null;
  created_at: Date;
  last_attempt_at: Date | null;
}

export interface WebhookDeliveriesTable {
  id: Generated<bigint>;
  endpoint_id: string;
  event_id: string;
  type: WebhookEventType;
  payload: string;
  state: Generated<DeliveryState>;
  attempts: Generated<number>;
  /** Attempts since it was last requested. */
  tries: Generated<number>;
  next_attempt_at: Date;
  lease: string | null;
  leased_until: Date | null;
  last_attempt_at: Date | null;
  last_status: number | null;
  last_error: string | null;
  last_response: string | null;
  created_at: Date;
  delivered_at: Date | null;
  recorded_at: RecordedAt;
}
