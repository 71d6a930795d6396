import type { Clock } from '../model/clock.ts';
import type { Log } from '../model/log.ts';
import type { Db } from '../store/db.ts';
import {
  claimDueDeliveries,
  type DeliveryOutcome,
  type DueDelivery,
  findNextDue,
  releaseDelivery,
  settleDelivery,
} from '../store/webhooks/due-deliveries.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type AttemptDeps, attempt } from './attempt.ts';

export interface DeliverDeps extends AttemptDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'webhookAttempts'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Subscribes to new due deliveries. @returns a function that unsubscribes. */
  readonly onNews: (wake: () => void) => () => void;
}

export interface Delivering {
  /** Claims no more, gives attempts in flight 5 s to end, and releases the rest. */
  stop(): Promise<void>;
}

/** Simultaneous attempts of a process in their first second. */
const MAX_FRESH = 64;
/** After this time an attempt gives its place to another one, so that receivers that hang do not take all places. */
const SLOW_MS = 1_000;
/** Simultaneous attempts of a process, slow ones included; each is a connection that mostly waits. */
const MAX_AT_ONCE = 512;
/** Added to an attempt's timeout to store its outcome; after that its process counts as dead. */
const LEASE_MARGIN_MS = 15_000;
/** Interval for deliveries whose notification was missed, or whose process died. */
const POLL_MS = 5_000;
const STOP_TIMEOUT_MS = 5_000;

/** Sends due deliveries at least once each, also if other processes do the same. */
export function startDelivering(deps: DeliverDeps): Delivering {
  const { db, clock, log } = deps;
  const stopping = new AbortController();
  const aborting = new AbortController();
  const inFlight = new Set<Promise<void>>();
  let fresh = 0;
  let news = Promise.withResolvers<void>();
  const stopListening = deps.onNews(() => news.resolve());

  const run = async () => {
    while (!stopping.signal.aborted) {
      news = Promise.withResolvers();
      let dueAt: Date | null = null;
      try {
        // Both use one time: the second finds what becomes due between them.
        const now = clock.now();
        const taken = await take(deps, Math.min(MAX_FRESH - fresh, MAX_AT_ONCE - inFlight.size), now);
        for (const due of taken) start(due);
        if (taken.length > 0) continue;
        dueAt = await findNextDue(db, now);
      } catch (error) {
        log.warn({ err: error }, 'webhooks cannot be read; they are delivered later');
      }
      await rest(dueAt);
    }
  };
  const start = (due: DueDelivery) => {
    const isOver = new AbortController();
    const ended = deliver(deps, due, aborting.signal).finally(() => {
      isOver.abort();
      inFlight.delete(ended);
      // This process and the receiver can take another one.
      news.resolve();
    });
    inFlight.add(ended);
    void countFresh(isOver.signal);
  };
  const countFresh = async (isOver: AbortSignal) => {
    fresh += 1;
    await clock.sleep(SLOW_MS, isOver).catch(() => undefined);
    fresh -= 1;
    news.resolve();
  };
  const rest = async (dueAt: Date | null) => {
    const over = new AbortController();
    const untilDueMs = dueAt === null ? POLL_MS : dueAt.getTime() - clock.now().getTime();
    const pauseMs = Math.max(0, Math.min(POLL_MS, untilDueMs));
    const signal = AbortSignal.any([stopping.signal, over.signal]);
    await Promise.race([news.promise, clock.sleep(pauseMs, signal).catch(() => undefined)]);
    over.abort();
  };

  const running = run();
  return {
    async stop() {
      stopping.abort();
      stopListening();
      await running;
      const over = new AbortController();
      const timeout = clock.sleep(STOP_TIMEOUT_MS, over.signal).catch(() => undefined);
      await Promise.race([Promise.all(inFlight), timeout]);
      over.abort();
      aborting.abort(new Error('The worker is stopping.'));
      await Promise.all(inFlight);
    },
  };
}

async function take({ db, timeoutMs }: DeliverDeps, limit: number, now: Date): Promise<DueDelivery[]> {
  if (limit <= 0) return [];
  return claimDueDeliveries(db, { now, leasedUntil: new Date(now.getTime() + timeoutMs + LEASE_MARGIN_MS), limit });
}

/** A result that cannot be stored leads to another attempt after the lease expires: at least once, with the same id. */
async function deliver(deps: DeliverDeps, due: DueDelivery, signal: AbortSignal): Promise<void> {
  const { db, clock, log } = deps;
  const { endpointId, eventId, type, tries } = due;
  try {
    const outcome = await attempt(deps, due, signal);
    const isStored = await settleDelivery(db, due, outcome, clock.now());
    const { kind, status } = outcome;
    deps.metrics.webhookAttempts.inc({ outcome: metricOf(outcome) });
    const error = outcome.kind === 'delivered' ? undefined : outcome.error;
    const message = isStored
      ? 'webhook sent'
      : 'the result of a webhook is not stored: another worker has the delivery, or its endpoint is deleted';
    log.info({ endpointId, eventId, type, tries, outcome: kind, status, error }, message);
  } catch (error) {
    if (signal.aborted) await releaseDelivery(db, due, clock.now()).catch(() => undefined);
    else log.warn({ endpointId, eventId, err: error }, 'the result of a webhook cannot be stored; it is sent again');
  }
}

function metricOf(outcome: DeliveryOutcome): 'delivered' | 'gone' | 'retried' | 'exhausted' {
  if (outcome.kind !== 'rejected') return outcome.kind;
  return outcome.retryAt === null ? 'exhausted' : 'retried';
}
