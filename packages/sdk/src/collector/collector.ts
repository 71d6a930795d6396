import type { FlywheelClient } from '../client.ts';
import { FlywheelError } from '../errors.ts';
import { createIntake } from './intake.ts';
import { type CollectedItem, type ItemStatus, isRefusedItem, readItem, recipientsOf, statusOf } from './item.ts';
import { type Journal, openJournal } from './journal.ts';
import { lead } from './lead.ts';
import { readStatuses } from './merge.ts';
import type { HeldUp, PayDeps, PayTiming, WalletApproval } from './pay-batch.ts';
import { type PayLoop, startPayLoop } from './pay-loop.ts';
import type { PlanLimits } from './plan-batch.ts';
import { guardProject } from './project.ts';
import { deliverReports, iterateReports, type ReportHandlers } from './reports.ts';
import type { CollectorStore, ItemCounts, ItemProgress, StoreChanges, StoredItem } from './store.ts';

/** Something that a person should know. */
export type CollectorAlarm =
  /** Items that cannot be paid, or whose batch a person has ended, and how many there are by now. */
  | { readonly kind: 'quarantined'; readonly items: readonly ItemStatus[]; readonly quarantined: number }
  /** A batch waits for a person's approval, or for something else that `code` and `message` say. It continues by itself. */
  | HeldUp
  /** An element of `collectAll` that is no item; `message` says why. The others go on. */
  | { readonly kind: 'invalid'; readonly element: unknown; readonly message: string }
  /**
   * Nothing is paid any more until a collector is created again. `message` is that of `error`, for logs: JSON leaves it
   * out of an Error.
   */
  | { readonly kind: 'stopped'; readonly message: string; readonly error: Error };

export interface CollectorOptions extends ReportHandlers {
  readonly client: FlywheelClient;
  readonly store: CollectorStore;
  /**
   * The project's wallet and what is verified before it signs, as for `runBatch`; or `'person'`: each batch waits until
   * somebody approves it, for example in the console, and `onAlarm` is called.
   */
  readonly approval: WalletApproval | 'person';
  /** Called when a person should know something. */
  readonly onAlarm?: (alarm: CollectorAlarm) => void;
  /** Items of a batch, 1 to 1,000; 500 by default. */
  readonly maxItems?: number;
  /**
   * True to pay airdrops of one type to one recipient together: one airdrop of their sum, with a merged payload that lists
   * the events (decision 81). Only items that are a single airdrop are merged, in their first batch. False by default.
   */
  readonly mergeAirdrops?: boolean;
  /** JSON bytes of a batch's items; 1,000,000 by default. The service takes 2 MiB. */
  readonly maxBytes?: number;
  /** Time that an item waits for its batch to fill; 10 s by default. */
  readonly maxAgeMs?: number;
  /**
   * True for a cluster that undoes nothing, such as `npm start`'s: `minOpenIntervalMs` and `finalAfterMs` are then 0 by
   * default.
   */
  readonly isLocalCluster?: boolean;
  /** Batches at a time that are not executed yet, at least 2; 3 by default. One is kept for recipients who failed. */
  readonly maxOpenBatches?: number;
  /** Time between two new batches; 6.5 s by default, because the service takes ten inits a minute. */
  readonly minOpenIntervalMs?: number;
  /**
   * Several processes with equal options may share a PostgreSQL store: all of them collect, and one of them pays and
   * reports. Another takes over when that one has ended, or has not renewed its lease for this time; 1 s to 10 minutes.
   * Without it a collector pays alone, and a new one replaces the one before.
   */
  readonly leaseMs?: number;
  /** Pending items from which on `collect` waits; 100,000 by default. */
  readonly maxPending?: number;
  /** Failures after which a recipient's items are quarantined, at least 2; 3 by default. A payment resets the count. */
  readonly maxFailures?: number;
  /** Time after which an executed batch is final and its items count as paid; 20 s by default, at most 24 days. */
  readonly finalAfterMs?: number;
  /** First and longest wait after an error that passes; 1 s and 60 s by default, at most 24 days. */
  readonly retryMs?: readonly [first: number, longest: number];
}

/** Numbers of a collector at one moment. */
export interface CollectorMetrics extends ItemCounts {
  /** Batches that are not executed yet. */
  readonly openBatches: number;
  /**
   * The newest reason for which an open batch waits, or for which a limit has refused one since a batch has ended; null if
   * there is none, and in a process that does not pay.
   */
  readonly waitingFor: HeldUp | null;
}

/**
 * Creates a collector: it takes events, pays them in batches, and says what became of each. Every event is paid once for
 * its id, however often it is collected and wherever the process stops, as long as the store is durable. It begins at once
 * with what the store holds. One collector pays from a store at a time: a new one replaces the one before. A store belongs to
 * the project of its first collector.
 * @throws RangeError for an option out of its bounds, FlywheelError `ERR_COLLECTOR_PROJECT` if the store belongs to another
 * project than the API key, and every error of the store. While the service cannot be reached, the collector takes events and
 * compares the projects before it pays.
 *
 * @example
 * const store = await openSqliteStore('payments.db');
 * const collector = await createCollector({ client, store, approval: { wallet, verify }, onPaid });
 * await collector.collect({ id: 'ad-7731', type: 'WATCH_AD', payload: { adId: 'ad-7731' }, actions: [airdrop(viewer, '1.5')] });
 */
export async function createCollector({
  client,
  store,
  approval,
  onAlarm,
  onPaid,
  onRejected,
  ...options
}: CollectorOptions) {
  const { limits, timing, pace, leaseMs, maxPending } = settingsOf(options);
  requireApproval(approval);
  const controller = new AbortController();
  const { signal } = controller;
  const stopping: { error: Error | null } = { error: null };
  // By the key of the batch; the newest is the last one. Null is for a batch that was dissolved to be divided.
  const waits = new Map<string | null, HeldUp>();
  let idleWaiters = 0;

  const journal: Journal = await openJournal(store, { signal, onWritten: alarmQuarantined });
  const intake = createIntake(journal, { maxPending, requireOpen });

  function alarmQuarantined({ items = [], endedBatches = [] }: StoreChanges): void {
    if (endedBatches.length > 0) for (const key of [...endedBatches, null]) waits.delete(key);
    const quarantined = items.filter(({ item, to }) => to.state === 'quarantined' && item.state !== 'quarantined');
    if (quarantined.length === 0) return;
    const named = quarantined.map(({ item, to }) => statusOf({ ...item, ...to }));
    onAlarm?.({ kind: 'quarantined', items: named, quarantined: journal.counts().quarantined });
  }

  function onHeldUp(cause: HeldUp, key: string | null): void {
    waits.delete(key);
    waits.set(key, cause);
    onAlarm?.(cause);
  }

  function requireOpen(): void {
    if (!signal.aborted) return;
    const { error } = stopping;
    const message = error === null ? 'The collector was stopped.' : `The collector has stopped: ${error.message}`;
    throw new FlywheelError({ code: 'ERR_COLLECTOR_STOPPED', message, ...(error !== null && { cause: error }) });
  }

  function fail(cause: unknown): void {
    if (signal.aborted) return;
    const error = cause instanceof Error ? cause : new Error(String(cause), { cause });
    stopping.error = error;
    controller.abort();
    onAlarm?.({ kind: 'stopped', message: error.message, error });
  }

  const project = guardProject({ client, store, approval });
  const deps: Omit<PayDeps, 'onExecuted' | 'deferrals'> = {
    ...{ client, journal, approval, timing, signal, onHeldUp },
    requireProject: project.require,
  };
  const hasHandlers = onPaid !== undefined || onRejected !== undefined;
  let loop: PayLoop | null = null;

  async function pay(during: AbortSignal, onError: (error: unknown) => void): Promise<void> {
    const started = startPayLoop(
      { ...deps, signal: during },
      { ...pace, limits, isUrgent: () => idleWaiters > 0, onError },
    );
    loop = started;
    const reports = hasHandlers ? deliverReports(journal, { onPaid, onRejected }, during).catch(onError) : undefined;
    await Promise.all([started.ended, reports]);
    loop = null;
    waits.clear();
  }

  // Before the claim: a start with another project must not replace the collector that pays.
  await project.checkAtStart();
  if (leaseMs === null) await journal.claim();
  const paying = leaseMs === null ? pay(signal, fail) : lead(journal, { leaseMs, signal, pay, onError: fail });

  async function isIdle(): Promise<boolean> {
    if (journal.counts().pending > 0) return false;
    return !hasHandlers || (await store.read({ reportDue: true, limit: 1 })).length === 0;
  }

  /** Moves one item, unless it is in a state that the caller does not expect. */
  async function move(
    id: string,
    verb: string,
    progressOf: (item: StoredItem) => Partial<ItemProgress> | null,
    recipientChanges: (item: StoredItem) => Promise<Pick<StoreChanges, 'recipients'>> = async () => ({}),
  ): Promise<ItemStatus> {
    requireOpen();
    return journal.exclusive(async (write) => {
      const [item] = await store.read({ ids: [id] });
      const to = item ? progressOf(item) : null;
      if (!item || to === null) {
        const state = item
          ? `is ${item.state}${item.batchKey === null ? '' : ' and in an open batch'}`
          : 'is not known';
        throw new FlywheelError({ code: 'ERR_ITEM_STATE', message: `Item ${id} cannot be ${verb}: it ${state}.` });
      }
      await write({ items: [{ item, to }], ...(await recipientChanges(item)) });
      return statusOf({ ...item, ...to });
    });
  }

  async function idle(): Promise<void> {
    idleWaiters += 1;
    try {
      await journal.refresh();
      for (;;) {
        requireOpen();
        const changed = journal.nextChange();
        if (await isIdle()) return;
        await changed;
      }
    } finally {
      idleWaiters -= 1;
    }
  }

  async function collectAll<Element>(
    source: AsyncIterable<Element> | Iterable<Element>,
    toItem: (element: Element) => CollectedItem,
  ): Promise<void> {
    for await (const element of source) {
      try {
        await intake.collect(readItem(element, toItem), {});
      } catch (error) {
        if (!isRefusedItem(error) || onAlarm === undefined) throw error;
        onAlarm({ kind: 'invalid', element, message: error.message });
      }
    }
    await idle();
  }

  async function stop(): Promise<void> {
    controller.abort();
    await Promise.all([intake.settle(), paying]);
    await journal.exclusive(async () => undefined);
    // Another process need not wait for the end of the lease. One that has taken over already has nothing to wait for.
    if (leaseMs !== null) await journal.renew(0).catch(() => undefined);
    await store.close();
  }
  let ended: Promise<void> | undefined;

  return {
    /**
     * Accepts an event; it is durable when the call returns. An id that is known already changes nothing and answers what
     * has become of it. Waits while `maxPending` items are pending.
     * @throws FlywheelError `ERR_ITEM_CHANGED` if the id is known with another content, `ERR_INVALID_REQUEST` or
     * `ERR_FLYWHEEL_PIPELINE_TOO_BIG` for an item that no service accepts, `ERR_COLLECTOR_STOPPED`, and any error of the store.
     */
    collect: (item: CollectedItem, options: { readonly signal?: AbortSignal } = {}): Promise<ItemStatus> =>
      intake.collect(item, options),

    /**
     * Collects each element of a source that ends, such as a file, then resolves as `idle` does. An element that is no item,
     * because `toItem` throws or no service accepts what it returns, goes to `onAlarm`, and the others go on.
     * @throws FlywheelError as `collect` and `idle`, and every error of the source. Without `onAlarm`, also the first element
     * that is no item.
     */
    collectAll,

    /** Reads what has become of an item; null if its id is not known. */
    async status(id: string): Promise<ItemStatus | null> {
      const [item] = await store.read({ ids: [id] });
      const [status = null] = item ? await readStatuses(store, [item]) : [];
      return status;
    },

    /** Iterates over the quarantined items, oldest first. */
    async *quarantined(): AsyncGenerator<ItemStatus, void, undefined> {
      for (let after = 0; ; ) {
        const items = await store.read({ state: 'quarantined', after, limit: limits.maxItems });
        yield* items.map((item) => statusOf(item));
        const last = items.at(-1);
        if (!last) return;
        after = last.sequence;
      }
    },

    /**
     * Makes a quarantined item pending again. Its recipients get one more attempt, in a batch of their own.
     * @throws FlywheelError `ERR_ITEM_STATE`
     */
    async requeue(id: string): Promise<ItemStatus> {
      return move(
        id,
        'requeued',
        ({ state }) => (state === 'quarantined' ? { state: 'pending', reason: null, isReportDue: false } : null),
        async (item) => {
          const known = await store.readRecipients(recipientsOf(item));
          const parked = known.filter(({ failures }) => failures >= limits.maxFailures);
          return { recipients: parked.map((each) => ({ ...each, failures: limits.maxFailures - 1 })) };
        },
      );
    },

    /**
     * Decides that an item is never paid. It must be quarantined, or pending and not in an open batch.
     * @throws FlywheelError `ERR_ITEM_STATE`
     */
    async drop(id: string): Promise<ItemStatus> {
      return move(id, 'dropped', ({ state, batchKey }) => {
        const isMovable = state === 'quarantined' || (state === 'pending' && batchKey === null);
        return isMovable ? { state: 'dropped', isReportDue: false } : null;
      });
    },

    /**
     * Iterates over the results, paid and quarantined, instead of `onPaid` and `onRejected`. A result counts as delivered
     * when the next one is asked for; after a crash one may come again. Ends when the collector stops.
     */
    results(): AsyncGenerator<ItemStatus, void, undefined> {
      if (leaseMs !== null)
        throw new Error('With leaseMs, results go to onPaid and onRejected of the process that pays.');
      if (hasHandlers) throw new Error('The results go to onPaid and onRejected. Leave them out to iterate instead.');
      return iterateReports(journal, signal);
    },

    /** Numbers of items and batches now; `quarantined` is the gauge to watch. */
    metrics(): CollectorMetrics {
      return {
        ...journal.counts(),
        openBatches: loop?.openBatches() ?? 0,
        waitingFor: [...waits.values()].at(-1) ?? null,
      };
    },

    /**
     * Sends what waits without waiting for full batches, and resolves when no item is pending and each result has reached
     * its handler.
     * @throws FlywheelError `ERR_COLLECTOR_STOPPED` if the collector stops before.
     */
    idle,

    /**
     * Stops taking and paying, and closes the store. Open batches stay open: the service goes on with those that are
     * approved, and the next start continues all of them. Repeating it is safe.
     */
    stop(): Promise<void> {
      ended ??= stop();
      return ended;
    },

    /** Aborted when the collector stops; `error` then says why, null after `stop`. */
    stopped: {
      signal,
      get error() {
        return stopping.error;
      },
    },
  };
}

/** The collector that `createCollector` returns. */
export type Collector = Awaited<ReturnType<typeof createCollector>>;

const MAX_BATCH_ITEMS = 1_000;
/** Below the service's 2 MiB with the JSON around the items. */
const MAX_BATCH_BYTES = 1_900_000;
/** A timer that is longer ends at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

type Settings = Omit<CollectorOptions, 'client' | 'store' | 'approval' | keyof ReportHandlers>;

function settingsOf({ isLocalCluster = false, ...options }: Settings) {
  const limits: PlanLimits = {
    maxItems: within('maxItems', options.maxItems ?? 500, 1, MAX_BATCH_ITEMS),
    maxBytes: within('maxBytes', options.maxBytes ?? 1_000_000, 1, MAX_BATCH_BYTES),
    maxAgeMs: within('maxAgeMs', options.maxAgeMs ?? 10_000, 0),
    maxFailures: within('maxFailures', options.maxFailures ?? 3, 2),
    mergesAirdrops: options.mergeAirdrops ?? false,
  };
  const [firstMs, longestMs] = options.retryMs ?? [1_000, 60_000];
  const longestRetryMs = within('retryMs[1]', longestMs, 1, MAX_TIMER_MS);
  const timing: PayTiming = {
    finalAfterMs: within('finalAfterMs', options.finalAfterMs ?? (isLocalCluster ? 0 : 20_000), 0, MAX_TIMER_MS),
    retryMs: [within('retryMs[0]', firstMs, 0, longestRetryMs), longestRetryMs],
  };
  const pace = {
    maxOpenBatches: within('maxOpenBatches', options.maxOpenBatches ?? 3, 2),
    minOpenIntervalMs: within('minOpenIntervalMs', options.minOpenIntervalMs ?? (isLocalCluster ? 0 : 6_500), 0),
  };
  const leaseMs = options.leaseMs === undefined ? null : within('leaseMs', options.leaseMs, 1_000, 600_000);
  return { limits, timing, pace, leaseMs, maxPending: within('maxPending', options.maxPending ?? 100_000, 1) };
}

function within(name: string, value: number, min: number, max = Number.MAX_SAFE_INTEGER): number {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new RangeError(`${name} is ${value}; it must be a whole number from ${min} to ${max}.`);
}

/** For callers without types: to leave `verify` out by mistake must not switch the verification off. */
function requireApproval(approval: CollectorOptions['approval']): void {
  if (approval === 'person' || approval?.verify) return;
  throw new RangeError('approval is missing: pass { wallet, verify } as for runBatch, or "person".');
}
