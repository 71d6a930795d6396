import type { BatchEventDetails, BatchEventType, BatchKind, BatchStatus } from '@flywheel/api';
import { sql } from 'kysely';
import type { Db } from '../db.ts';
import { queueDeliveries } from '../webhooks/queue-deliveries.ts';
import { scheduleBalanceCheck } from '../webhooks/vault-watch.ts';

/** On which a batch’s id is sent with each event of it. */
export const EVENTS_CHANNEL = 'batch_events';

/**
 * Tells that something has become of a batch, in the transaction in which it does. Holds the batch’s row before it takes
 * an id: of one batch, events are committed in the order of their ids, so that whoever reads on from the last misses none.
 * In the same transaction it is queued for the project’s webhooks.
 */
export async function recordEvent(
  trx: Db,
  batchId: string,
  { type, at, ...details }: { readonly type: BatchEventType; readonly at: Date } & BatchEventDetails,
): Promise<void> {
  const { rows } = await sql<ToldBatch>`
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
  if (isTold(type)) await tell(trx, batch, type, at, details);
  if (isTimeToLook(type, details)) await scheduleBalanceCheck(trx, batch.project_id, at);
}

interface ToldBatch {
  readonly id: string;
  readonly project_id: string;
  readonly kind: BatchKind;
  readonly batch_index: bigint;
  readonly status: BatchStatus;
  readonly pipeline_count: number;
}

/** What webhooks tell of a batch. The steps between, whoever wants them follows. */
const TOLD = [
  'batch.finalized',
  'batch.awaiting_company_approval',
  'batch.executed',
  'batch.failed',
  'batch.expired',
] as const satisfies readonly BatchEventType[];

const ENDS: readonly BatchEventType[] = ['batch.executed', 'batch.failed', 'batch.expired'];

function isTold(type: BatchEventType): type is (typeof TOLD)[number] {
  return TOLD.some((told) => told === type);
}

async function tell(
  trx: Db,
  batch: ToldBatch,
  type: (typeof TOLD)[number],
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

/** A batch that has ended has taken from the vault; one that is held up may be so for what the vault lacks. */
function isTimeToLook(type: BatchEventType, { error }: BatchEventDetails): boolean {
  return ENDS.includes(type) || (type === 'batch.held_up' && error?.code === 'ERR_VAULT_UNDERFUNDED');
}
