import { idempotencyKeyOf } from '../idempotency-keys.ts';
import type { Deferrals } from './deferrals.ts';
import { recipientsOf } from './item.ts';
import { assignPositions } from './merge.ts';
import type { CollectorStore, ItemChange, Lane, StoreChanges, StoredBatch, StoredItem } from './store.ts';

/** When a batch is full, and when a recipient is parked. */
export interface PlanLimits {
  readonly maxItems: number;
  /** Bytes of the items' JSON. */
  readonly maxBytes: number;
  /** Age of the oldest item at which a batch is sent though it is not full. */
  readonly maxAgeMs: number;
  readonly maxFailures: number;
  /** True if airdrops of one type to one recipient share a pipeline. */
  readonly mergesAirdrops: boolean;
}

export interface Plan {
  /** The step to write; null if there is nothing to do. */
  readonly changes: StoreChanges | null;
  /** The batch that `changes` opens. Without one, plan again after the write. */
  readonly batch: StoredBatch | null;
  /**
   * Milliseconds until the oldest item is old enough, or a deferred one may be tried; null if none waits, and beside
   * `changes`.
   */
  readonly dueInMs: number | null;
}

export interface PlanOptions {
  readonly limits: PlanLimits;
  readonly deferrals: Deferrals;
  readonly nowMs: number;
}

const NOTHING: Plan = { changes: null, batch: null, dueInMs: null };

/** Code of the reason of items whose recipient has failed too often. */
export const RECIPIENT_PARKED = 'RECIPIENT_PARKED';

/**
 * Plans the next batch of a lane from the items that wait in it, oldest first. Items of recipients who failed are moved out
 * of the way first, so that they never delay others.
 */
export async function planBatch(
  store: CollectorStore,
  lane: Lane,
  { limits, deferrals, nowMs }: PlanOptions,
): Promise<Plan> {
  const { waiting, nextInMs } = await readWaiting(store, lane, { limits, deferrals });
  const [oldest] = waiting;
  if (!oldest) return { ...NOTHING, dueInMs: nextInMs === null ? null : Math.max(0, nextInMs) };
  const moves = await moveFailed(store, waiting, { limits, deferrals });
  if (moves.length > 0) return { ...NOTHING, changes: { items: moves } };
  if (lane === 'apart') return openBatch(lane, fill(sameRecipient(waiting), limits), limits);
  const filled = fill(waiting, limits);
  const isFull = filled.length === limits.maxItems || filled.length < waiting.length;
  const dueInMs = oldest.acceptedAtMs + limits.maxAgeMs - nowMs;
  // A clock that was set back would let it wait for as long; one of another process may differ a little.
  const isFromFuture = dueInMs > 2 * limits.maxAgeMs;
  return isFull || dueInMs <= 0 || isFromFuture ? openBatch(lane, filled, limits) : { ...NOTHING, dueInMs };
}

/** Pending items that are read at once behind those of recipients who are above a limit. */
const PAGE = 1_000;

/** Reads the first items of a lane that may be tried now, and when the next of the others may. */
async function readWaiting(
  store: CollectorStore,
  lane: Lane,
  { limits: { maxItems }, deferrals }: Pick<PlanOptions, 'limits' | 'deferrals'>,
): Promise<{ readonly waiting: readonly StoredItem[]; readonly nextInMs: number | null }> {
  let nextInMs: number | null = null;
  const isReady = (item: StoredItem) => {
    // Together with others they are moved to the lane in which they wait.
    if (lane === 'together' && recipientsOf(item).some(deferrals.isDeferred)) return true;
    const waitMs = deferrals.waitOf(item);
    if (waitMs !== null) nextInMs = Math.min(nextInMs ?? waitMs, waitMs);
    return waitMs === null;
  };
  let page = await store.read({ waitingIn: lane, limit: maxItems });
  let waiting = page.filter(isReady);
  for (let isLast = page.length < maxItems; waiting.length === 0 && !isLast; isLast = page.length < PAGE) {
    page = await store.read({ state: 'pending', after: page.at(-1)?.sequence ?? 0, limit: PAGE });
    waiting = page.filter((item) => item.batchKey === null && item.lane === lane).filter(isReady);
  }
  return { waiting: waiting.slice(0, maxItems), nextInMs };
}

async function moveFailed(
  store: CollectorStore,
  waiting: readonly StoredItem[],
  { limits: { maxFailures }, deferrals }: Pick<PlanOptions, 'limits' | 'deferrals'>,
): Promise<ItemChange[]> {
  const recipients = await store.readRecipients([...new Set(waiting.flatMap(recipientsOf))]);
  const failures = new Map(recipients.map(({ address, failures: count }) => [address, count]));
  return waiting.flatMap((item): ItemChange[] => {
    const failed = recipientsOf(item).filter((each) => failures.has(each));
    const parked = failed.find((each) => (failures.get(each) ?? 0) >= maxFailures);
    if (parked !== undefined) {
      const message = `${parked} has failed ${failures.get(parked)} times since the last payment, so its items are parked. Requeue one to try again.`;
      const reason = { code: RECIPIENT_PARKED, message };
      return [{ item, to: { state: 'quarantined', reason, isReportDue: true } }];
    }
    const isHeld = failed.length > 0 || recipientsOf(item).some(deferrals.isDeferred);
    return isHeld && item.lane === 'together' ? [{ item, to: { lane: 'apart' } }] : [];
  });
}

/** The oldest item, with all others that pay the same single recipient. */
function sameRecipient([first, ...others]: readonly StoredItem[]): StoredItem[] {
  if (!first) return [];
  const [recipient, ...more] = recipientsOf(first);
  if (recipient === undefined || more.length > 0) return [first];
  const isSame = (item: StoredItem) => recipientsOf(item).every((each) => each === recipient);
  return [first, ...others.filter(isSame)];
}

/** The first items that fit into one request; at least one. */
function fill(items: readonly StoredItem[], { maxItems, maxBytes }: PlanLimits): StoredItem[] {
  let bytes = 0;
  const filled: StoredItem[] = [];
  for (const item of items.slice(0, maxItems)) {
    bytes += new TextEncoder().encode(item.content).length;
    if (filled.length > 0 && bytes > maxBytes) break;
    filled.push(item);
  }
  return filled;
}

/** The key names the items and their attempts: a crash before or after the write leads to the same batch. */
async function openBatch(lane: Lane, items: readonly StoredItem[], limits: PlanLimits): Promise<Plan> {
  const key = await idempotencyKeyOf(
    'flywheel collector v1',
    JSON.stringify(items.map(({ id, attempts }) => [id, attempts])),
  );
  const batch: StoredBatch = { key, lane, batchId: null, verdict: null, signed: null };
  const positions = assignPositions(items, limits.mergesAirdrops);
  const assigned = items.map((item, i) => ({ item, to: { batchKey: key, position: positions[i] ?? i } }));
  return { changes: { items: assigned, batches: [batch] }, batch, dueInMs: null };
}
