import type { BatchEventDetails, BatchEventType, BatchKind, BatchStatus } from '@flywheel/api';
import { sql } from 'kysely';
import type { Db } from '../db.ts';
import { queueDeliveries } from '../webhooks/queue-deliveries.ts';
import { scheduleBalanceCheck } from '../webhooks/vault-balance-checks.ts';

/** The notification channel of batch events. The payload is the batch's id. */
export const EVENTS_CHANNEL = 'batch_events';

/**
 * Records an event of a batch, in the transaction that causes it, and queues it for the project's webhooks. Locks the
 * batch's row before it takes an id, so that the events of a batch are committed in the order of their ids and a reader
 * that continues after its last id misses none.
 */
export async function recordEvent(
  trx: Db,
  batchId: string,
  { type, at, ...details }: { readonly type: BatchEventType; readonly at: Date } & BatchEventDetails,
): Promise<void> {
  const { rows } = await sql<EventBatch>`
    with batch as (
      select id, project_id, kind, batch_index, status, pipeline_count from batches where id = ${batchId}
      for no key update
    ),
    recorded as (
      insert into batch_events (batch_id, type, at, status, data)
      select id, ${type}, ${at}, status, ${JSON.stringify(details)} from batch
      returning batch_id
    )
    select batch.*, pg_notify(${EVENTS_CHANNEL}, batch_id::text) from recorded join batch on batch.id = batch_id
  `.execute(trx);
  const [batch] = rows;
  if (batch === undefined) return;
  if (isWebhookEvent(type)) await queueWebhooks(trx, batch, type, at, details);
  if (mayLowerVault(type, details)) await scheduleBalanceCheck(trx, batch.project_id, at);
}

interface EventBatch {
  readonly id: string;
  readonly project_id: string;
  readonly kind: BatchKind;
  readonly batch_index: bigint;
  readonly status: BatchStatus;
  readonly pipeline_count: number;
}

/** The events that webhooks deliver. The steps between are in the event stream only. */
const WEBHOOK_EVENTS = [
  'batch.finalized',
  'batch.awaiting_company_approval',
  'batch.executed',
  'batch.failed',
  'batch.expired',
] as const satisfies readonly BatchEventType[];

const ENDS: readonly BatchEventType[] = ['batch.executed', 'batch.failed', 'batch.expired'];

function isWebhookEvent(type: BatchEventType): type is (typeof WEBHOOK_EVENTS)[number] {
  return WEBHOOK_EVENTS.some((each) => each === type);
}

async function queueWebhooks(
  trx: Db,
  batch: EventBatch,
  type: (typeof WEBHOOK_EVENTS)[number],
  at: Date,
  { executedPipelines, error }: BatchEventDetails,
): Promise<void> {
  const event = {
    type,
    timestamp: at.toISOString(),
    data: {
      projectId: batch.project_id,
      batchId: batch.id,
      batchIndex: String(batch.batch_index),
      kind: batch.kind,
      status: batch.status,
      pipelines: batch.pipeline_count,
      ...(executedPipelines !== undefined && { executedPipelines }),
      ...(error && { error: { message: error.message } }),
    },
  };
  await queueDeliveries(trx, batch.project_id, event);
}

/** A batch that ended has spent from the vault; a batch held up as underfunded shows that the vault is low. */
function mayLowerVault(type: BatchEventType, { error }: BatchEventDetails): boolean {
  return ENDS.includes(type) || (type === 'batch.held_up' && error?.code === 'ERR_VAULT_UNDERFUNDED');
}
