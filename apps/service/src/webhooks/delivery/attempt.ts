import type { Clock } from '../../model/clock.ts';
import type { DeliveryOutcome, DueDelivery } from '../../store/webhooks/due-deliveries.ts';
import { type PostAnswer, type PostDeps, post } from '../receiver/post.ts';
import type { WebhookSecrets } from '../secrets.ts';
import { type RetrySchedule, retryAt } from './retry-schedule.ts';

export interface AttemptDeps extends PostDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly secrets: WebhookSecrets;
  readonly schedule: RetrySchedule;
}

/**
 * Sends an event to its receiver, once, and says what came of it.
 * @throws what the signal aborts with, when it does.
 */
export async function attempt(deps: AttemptDeps, due: DueDelivery, signal: AbortSignal): Promise<DeliveryOutcome> {
  const headers = signedHeaders(deps, due);
  let answer: PostAnswer;
  try {
    answer = await post(deps, { url: due.url, headers, body: due.payload }, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { kind: 'refused', status: null, response: null, error: describe(error), retryAt: next(deps, due) };
  }
  const { status, text: response } = answer;
  if (status >= 200 && status < 300) return { kind: 'delivered', status, response };
  if (status === GONE) {
    return { kind: 'gone', status, response, error: 'The receiver answered 410: it wants no more.' };
  }
  const isRedirect = status >= 300 && status < 400;
  const error = `The receiver answered ${status}${isRedirect ? ', and redirects are not followed' : ''}.`;
  return { kind: 'refused', status, response, error, retryAt: next(deps, due) };
}

/** Standard Webhooks: whoever answers it unsubscribes. */
const GONE = 410;

function next({ schedule, clock }: AttemptDeps, { tries }: DueDelivery): Date | null {
  return retryAt(schedule, tries, clock.now());
}

/** Standard Webhooks, headers and signature; signed again in each attempt, because receivers refuse old timestamps. */
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

/** Node gathers what became of each address of a name in an error without words of its own. */
function describe(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(describe).join('; ');
  return error instanceof Error ? error.message : String(error);
}
