import type { Clock } from '../../model/clock.ts';
import type { Db } from '../../store/db.ts';
import { forgetDeliveries } from '../../store/webhooks/deliveries.ts';
import {
  type DeliveryOutcome,
  type DueDelivery,
  findNextDue,
  giveDeliveryBack,
  settleDelivery,
  takeDeliveries,
} from '../../store/webhooks/due-deliveries.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { type AttemptDeps, attempt } from './attempt.ts';

export interface DeliverDeps extends AttemptDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'webhookAttempts'>;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  /** Calls back when something new may be due. Ends with what it returns. */
  readonly onNews: (wake: () => void) => () => void;
}

export interface Delivering {
  /** Takes nothing more, lets what is under way end for a moment, and gives back the rest. */
  stop(): Promise<void>;
}

/** Attempts under way at once in a process, each a connection that mostly waits. */
const MAX_AT_ONCE = 64;
/** Beyond an attempt’s own time, in which its outcome is stored: after that its process is believed dead. */
const LEASE_MARGIN_MS = 15_000;
/** Interval for deliveries whose notification was missed, or whose process died. */
const POLL_MS = 5_000;
const STOP_PATIENCE_MS = 5_000;
const FORGET_EVERY_MS = 3_600_000;
const FORGET_AFTER_MS = 30 * 86_400_000;
const FORGET_AT_ONCE = 1_000;

/** Delivers what is due, at least once each, beside any number of processes that do the same. */
export function startDelivering(deps: DeliverDeps): Delivering {
  const { db, clock, log } = deps;
  const stopping = new AbortController();
  const breakingOff = new AbortController();
  const underWay = new Set<Promise<void>>();
  let news = Promise.withResolvers<void>();
  const stopListening = deps.onNews(() => news.resolve());

  const run = async () => {
    while (!stopping.signal.aborted) {
      news = Promise.withResolvers();
      let dueAt: Date | null = null;
      try {
        // One time for both: what falls due between them is seen by the second.
        const now = clock.now();
        const taken = await take(deps, MAX_AT_ONCE - underWay.size, now);
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
    const ended = deliver(deps, due, breakingOff.signal).finally(() => {
      underWay.delete(ended);
      // Its place is free, here and at its receiver.
      news.resolve();
    });
    underWay.add(ended);
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
  const forgetting = forget(deps, stopping.signal);
  return {
    async stop() {
      stopping.abort();
      stopListening();
      await Promise.all([running, forgetting]);
      const over = new AbortController();
      const patience = clock.sleep(STOP_PATIENCE_MS, over.signal).catch(() => undefined);
      await Promise.race([Promise.all(underWay), patience]);
      over.abort();
      breakingOff.abort(new Error('The worker is stopping.'));
      await Promise.all(underWay);
    },
  };
}

async function take({ db, timeoutMs }: DeliverDeps, limit: number, now: Date): Promise<DueDelivery[]> {
  if (limit <= 0) return [];
  return takeDeliveries(db, { now, leasedUntil: new Date(now.getTime() + timeoutMs + LEASE_MARGIN_MS), limit });
}

/** A result that cannot be stored leads to another attempt after the lease expires: at least once, with the same id. */
async function deliver(deps: DeliverDeps, due: DueDelivery, signal: AbortSignal): Promise<void> {
  const { db, clock, log } = deps;
  const { endpointId, eventId, type, tries } = due;
  try {
    const outcome = await attempt(deps, due, signal);
    await settleDelivery(db, due, outcome, clock.now());
    const { kind, status } = outcome;
    deps.metrics.webhookAttempts.inc({ outcome: metricOf(outcome) });
    const error = outcome.kind === 'delivered' ? undefined : outcome.error;
    log.info({ endpointId, eventId, type, tries, outcome: kind, status, error }, 'webhook sent');
  } catch (error) {
    if (signal.aborted) await giveDeliveryBack(db, due, clock.now()).catch(() => undefined);
    else log.warn({ endpointId, eventId, err: error }, 'what came of a webhook cannot be stored; it is sent again');
  }
}

function metricOf(outcome: DeliveryOutcome): 'delivered' | 'gone' | 'retried' | 'exhausted' {
  if (outcome.kind !== 'refused') return outcome.kind;
  return outcome.retryAt === null ? 'exhausted' : 'retried';
}

/** Nobody reads a log of months. */
async function forget({ db, clock, log }: DeliverDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const before = new Date(clock.now().getTime() - FORGET_AFTER_MS);
    try {
      while ((await forgetDeliveries(db, { before, limit: FORGET_AT_ONCE })) === FORGET_AT_ONCE);
    } catch (error) {
      log.warn({ err: error }, 'old deliveries of webhooks cannot be forgotten');
    }
    await clock.sleep(FORGET_EVERY_MS, signal).catch(() => undefined);
  }
}
