import type { Ledger } from '../ledger/ledger.ts';
import type { Commitment } from '../ledger/slots.ts';
import type { Subscription } from './subscribe.ts';

/** Maximum of slots in one step; earlier ones are skipped, as on a node that catches up. */
const MAX_STEP_SLOTS = 512n;

/** Sends a result to one subscriber, in order; `last` ends the subscription. */
export type Deliver = (result: unknown, last: boolean) => void;

/** Notifies subscribers of changes in the ledger, each at its commitment. */
export interface Feed {
  /** Returns a function that ends the subscription. */
  add(subscription: Subscription, deliver: Deliver): () => void;
}

export function createFeed(ledger: Ledger): Feed {
  const { slots } = ledger;
  const subscribers = new Set<{ readonly subscription: Subscription; readonly deliver: Deliver }>();
  // The current bank notifies of each transaction, complete banks once of their changes.
  const notified = { confirmed: slots.at('confirmed'), finalized: slots.at('finalized') };

  const tellOnce = (entry: { readonly subscription: Subscription; readonly deliver: Deliver }) => {
    const [result] = entry.subscription.once?.() ?? [];
    if (result === undefined) return;
    subscribers.delete(entry);
    entry.deliver(result, true);
  };
  const tell = (commitment: Commitment, results: (subscription: Subscription) => readonly unknown[] | undefined) => {
    for (const { subscription, deliver } of subscribers) {
      if (subscription.commitment !== commitment) continue;
      for (const result of results(subscription) ?? []) deliver(result, false);
    }
  };
  const tellReached = (commitment: 'confirmed' | 'finalized') => {
    const newest = slots.at(commitment);
    const oldest = newest - MAX_STEP_SLOTS;
    const last = notified[commitment] > oldest ? notified[commitment] : oldest;
    notified[commitment] = newest;
    for (let slot = last + 1n; slot <= newest && subscribers.size > 0; slot += 1n) {
      tell(commitment, (subscription) => subscription.onBank?.(slot));
    }
  };

  ledger.onCommit((executed) => {
    for (const one of executed) {
      for (const { subscription, deliver } of subscribers) {
        for (const result of subscription.onReceived?.(one) ?? []) deliver(result, false);
      }
      tell('processed', (subscription) => subscription.onTransaction?.(one));
    }
    for (const entry of subscribers) tellOnce(entry);
  });
  ledger.onSlot(async () => {
    for (const { subscription, deliver } of subscribers) {
      for (const result of subscription.onSlot?.() ?? []) deliver(result, false);
    }
    tellReached('confirmed');
    tellReached('finalized');
    for (const entry of subscribers) tellOnce(entry);
  });

  return {
    add: (subscription, deliver) => {
      const entry = { subscription, deliver };
      subscribers.add(entry);
      // After the caller has answered with the number of the subscription.
      setImmediate(() => {
        if (subscribers.has(entry)) tellOnce(entry);
      });
      return () => {
        subscribers.delete(entry);
      };
    },
  };
}
