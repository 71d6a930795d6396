import { messageOf } from '@flywheel/protocol';
import type { Clock } from '../model/clock.ts';
import type { DeliveryOutcome, DueDelivery } from '../store/webhooks/due-deliveries.ts';
import { type PostAnswer, type PostDeps, post } from './post.ts';
import type { WebhookSecrets } from './secrets.ts';

/** The pauses between attempts. After the last attempt a delivery is exhausted. */
export interface RetrySchedule {
  readonly pausesMs: readonly number[];
  /** Returns a number in [0, 1). */
  readonly random: () => number;
}

export interface AttemptDeps extends PostDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly secrets: WebhookSecrets;
  readonly schedule: RetrySchedule;
}

/**
 * Sends an event to its receiver once and returns the outcome.
 * @throws the signal's reason if it aborts.
 */
export async function attempt(deps: AttemptDeps, due: DueDelivery, signal: AbortSignal): Promise<DeliveryOutcome> {
  const headers = signedHeaders(deps, due);
  let answer: PostAnswer;
  try {
    answer = await post(deps, { url: due.url, headers, body: due.payload }, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { kind: 'rejected', status: null, response: null, error: describe(error), retryAt: next(deps, due) };
  }
  const { status, text: response } = answer;
  if (status >= 200 && status < 300) return { kind: 'delivered', status, response };
  if (status === GONE) {
    return { kind: 'gone', status, response, error: 'The receiver answered 410 Gone: it wants no more events.' };
  }
  const isRedirect = status >= 300 && status < 400;
  const error = `The receiver answered ${status}${isRedirect ? ', and redirects are not followed' : ''}.`;
  return { kind: 'rejected', status, response, error, retryAt: next(deps, due) };
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Ten attempts over 22 h 43 min: a receiver that is down overnight loses no event. */
export const RETRY_PAUSES_MS = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  1 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
] as const;

/** Jitter keeps deliveries that failed together from being retried together. The delays stay within 24 h in total. */
const JITTER = 0.05;

/** Computes the time of the next attempt after this number of tries; null after the last. */
export function retryAt({ pausesMs, random }: RetrySchedule, tries: number, now: Date): Date | null {
  const pauseMs = pausesMs[tries - 1];
  if (pauseMs === undefined) return null;
  return new Date(now.getTime() + pauseMs * (1 - JITTER + 2 * JITTER * random()));
}

/** Standard Webhooks: a receiver that answers 410 unsubscribes. */
const GONE = 410;

function next({ schedule, clock }: AttemptDeps, { tries }: DueDelivery): Date | null {
  return retryAt(schedule, tries, clock.now());
}

/** Builds the headers of Standard Webhooks. Each attempt signs again, because receivers reject old timestamps. */
function signedHeaders({ clock, secrets }: AttemptDeps, due: DueDelivery): Record<string, string> {
  const { endpointId, eventId, payload, secretVersion, previousSecretUntil } = due;
  const now = clock.now();
  const timestampSeconds = Math.floor(now.getTime() / 1_000);
  const isOverlap = previousSecretUntil !== null && now < previousSecretUntil;
  const versions = isOverlap ? [secretVersion, secretVersion - 1] : [secretVersion];
  const signatures = versions.map((version) =>
    secrets.sign(endpointId, version, { eventId, timestampSeconds, payload }),
  );
  return {
    'content-type': 'application/json',
    'user-agent': 'Flywheel-Webhooks/1',
    'webhook-id': eventId,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures.join(' '),
  };
}

/** Sentences of errors of the connection, whose messages name the address that was looked up. */
const CONNECTION_ERRORS = new Map([
  ['ECONNREFUSED', 'The receiver refused the connection.'],
  ['ECONNRESET', 'The receiver closed the connection without an answer.'],
  ['EPIPE', 'The receiver closed the connection without an answer.'],
  ['ETIMEDOUT', 'The receiver did not accept the connection in time.'],
  ['EHOSTUNREACH', 'There is no route to the receiver.'],
  ['ENETUNREACH', 'There is no route to the receiver.'],
]);

/**
 * Describes an error to the tenant, without an address. Node collects the errors of a name's addresses in an AggregateError
 * without a message; their number is not shown either.
 */
function describe(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return [...new Set(error.errors.map(describe))].join(' ');
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const isOfSystem = error instanceof Error && 'syscall' in error;
  return CONNECTION_ERRORS.get(code) ?? (isOfSystem ? `The connection failed: ${code}.` : messageOf(error));
}
