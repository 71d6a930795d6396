import { type ListenDeps, startListening } from '../events/start-listening.ts';
import { WEBHOOKS_CHANNEL } from './queue-deliveries.ts';

/** Says when there is something to deliver or to look at, whichever process has brought it about. */
export interface WebhookFeed {
  /** Calls back then, and at times when there is nothing. While the connection is lost it does not. Ends with what it returns. */
  watch(wake: () => void): () => void;
  stop(): Promise<void>;
}

export function startWebhookFeed(deps: ListenDeps): WebhookFeed {
  const watchers = new Set<() => void>();
  const wakeAll = () => {
    for (const wake of [...watchers]) wake();
  };
  const listening = startListening(deps, WEBHOOKS_CHANNEL, { onListening: wakeAll, onNotice: wakeAll });
  return {
    watch(wake) {
      watchers.add(wake);
      return () => watchers.delete(wake);
    },
    stop: () => listening.stop(),
  };
}
