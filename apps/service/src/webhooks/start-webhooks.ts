import type { Clock } from '../model/clock.ts';
import type { FundsDeps } from '../projects/vault-funds.ts';
import type { ListenDeps } from '../store/listen.ts';
import { hasActiveEndpoint } from '../store/webhooks/endpoints.ts';
import { startWebhookFeed } from '../store/webhooks/queue-deliveries.ts';
import { RETRY_PAUSES_MS } from './attempt.ts';
import { guardedLookup, type ReceiverRules } from './receiver-address.ts';
import type { WebhookSecrets } from './secrets.ts';
import { type DeliverDeps, startDelivering } from './start-delivering.ts';
import { watchVaults } from './watch-vaults.ts';

export interface WebhooksDeps extends FundsDeps, Pick<ListenDeps, 'sessionConfig'> {
  readonly clock: Clock;
  readonly log: DeliverDeps['log'];
  readonly metrics: DeliverDeps['metrics'];
  readonly secrets: WebhookSecrets;
  readonly rules: ReceiverRules;
}

/** Standard Webhooks asks for 15 to 30 s. */
const TIMEOUT_MS = 15_000;

/** Delivers webhooks, and sees when a vault is low, until it is stopped. */
export function startWebhooks(deps: WebhooksDeps): { stop(): Promise<void> } {
  const feed = startWebhookFeed(deps);
  const onNews = feed.watch;
  const watching = watchVaults({ ...deps, onNews });
  const delivering = startDelivering({
    ...deps,
    onNews,
    lookup: guardedLookup(deps.rules),
    timeoutMs: TIMEOUT_MS,
    schedule: { pausesMs: RETRY_PAUSES_MS, random: Math.random },
  });
  return {
    async stop() {
      await Promise.all([watching.stop(), delivering.stop()]);
      await feed.stop();
    },
  };
}

/** Logs that this worker, which has no key, sends no webhooks: a warning if projects have some. */
export async function reportUnsent({ db, log }: Pick<WebhooksDeps, 'db' | 'log'>): Promise<void> {
  const message = 'webhooks are not sent: neither WEBHOOK_KEY nor WEBHOOK_KEY_FILE is set';
  if (await hasActiveEndpoint(db)) log.warn({}, `${message}, and projects have some`);
  else log.info({}, message);
}
