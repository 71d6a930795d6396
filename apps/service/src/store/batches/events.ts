import type { BatchEvent, BatchEventDetails, BatchEventType, BatchKind, BatchStatus } from '@flywheel/api';
import { sql } from 'kysely';
import { projectMoving } from '../../model/project.ts';
import type { Db } from '../db.ts';
import { type ListenDeps, startListening } from '../listen.ts';
import { queueDeliveries } from '../webhooks/queue-deliveries.ts';
import { scheduleBalanceCheck } from '../webhooks/vault-balance-checks.ts';

/** The notification channel of batch events. The payload is the batch's id. */
const EVENTS_CHANNEL = 'batch_events';

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

/** Notifies about events of batches, recorded by any process. */
export interface EventFeed {
  /**
   * Subscribes to a batch. The callback may also be called without a new event, and is not called while the connection
   * is lost, so a subscriber must poll as well.
   * @returns a function that unsubscribes.
   */
  watch(batchId: string, wake: () => void): () => void;
  stop(): Promise<void>;
}

/** Starts a feed on a connection of its own, which is replaced when it is lost. */
export function startEventFeed(deps: ListenDeps): EventFeed {
  const watchers = new Map<string, Set<() => void>>();
  const wakeAll = (of: Iterable<() => void>) => {
    for (const wake of [...of]) wake();
  };
  const listening = startListening(deps, EVENTS_CHANNEL, {
    // Notifications that arrived without a listener are not sent again.
    onListening: () => wakeAll([...watchers.values()].flatMap((wakes) => [...wakes])),
    onNotice: (batchId) => wakeAll(watchers.get(batchId) ?? []),
  });
  return {
    watch(batchId, wake) {
      const wakes = watchers.get(batchId) ?? new Set();
      watchers.set(batchId, wakes.add(wake));
      return () => {
        wakes.delete(wake);
        if (wakes.size === 0 && watchers.get(batchId) === wakes) watchers.delete(batchId);
      };
    },
    stop: () => listening.stop(),
  };
}

export interface EventPage {
  /** Events in the order in which they happened. */
  readonly events: readonly BatchEvent[];
  /** True if no event can follow. */
  readonly isLast: boolean;
}

/** Events that are read together and sent one by one. */
const PAGE = 100;

/**
 * Reads the events of a batch after a given event. After one that the batch has not reached it reads all of them: the
 * database was restored from a backup since, and counts from there.
 * @throws ApiError ERR_PROJECT_MOVING if the batch has left this shard.
 */
export async function findEvents(db: Db, batchId: string, after: bigint): Promise<EventPage> {
  // Read first: a batch that is over has had its last event.
  const isOver = await isBatchOver(db, batchId);
  const reached = sql<bigint>`case when exists (select from batch_events where batch_id = ${batchId} and id >= ${after})
    then ${after} else 0::bigint end`;
  const rows = await db
    .selectFrom('batch_events')
    .select(['id', 'batch_id', 'type', 'at', 'status', 'data'])
    .where('batch_id', '=', batchId)
    .where('id', '>', reached)
    .orderBy('id')
    .limit(PAGE)
    .execute();
  const events = rows.map((row) => ({
    id: String(row.id),
    type: row.type,
    batchId: row.batch_id,
    at: row.at.toISOString(),
    status: row.status,
    ...row.data,
  }));
  return { events, isLast: isOver && rows.length < PAGE };
}

/** Returns true if the batch is closed on chain, or has ended and will never be there: nothing was sent, or it locks no rent. */
async function isBatchOver(db: Db, batchId: string): Promise<boolean> {
  const { is_over } = await db
    .selectFrom('batches')
    .select(
      sql<boolean>`closed_at is not null or (ended_at is not null
        and (locked_lamports = 0 or not exists (select from bundles where batch_id = batches.id)))`.as('is_over'),
    )
    .where('id', '=', batchId)
    .executeTakeFirstOrThrow(() => projectMoving());
  return is_over;
}
