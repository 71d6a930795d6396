import type { ExecutedAttempt, Ledger } from '../ledger/ledger.ts';
import type { Subscription } from './subscribe.ts';

/** Maximum number of transactions that wait for a later commitment; the oldest are dropped without a notification. */
const MAX_WAITING = 20_000;

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
  // Transactions below a commitment level wait until their slot reaches it.
  let waiting: { readonly executed: ExecutedAttempt; readonly told: Set<Subscription['commitment']> }[] = [];

  const tellOnce = (entry: { readonly subscription: Subscription; readonly deliver: Deliver }) => {
    const [result] = entry.subscription.once?.() ?? [];
    if (result === undefined) return;
    subscribers.delete(entry);
    entry.deliver(result, true);
  };
  const tellReached = (entries: typeof waiting) => {
    for (const { executed, told } of entries) {
      for (const commitment of ['processed', 'confirmed', 'finalized'] as const) {
        if (told.has(commitment) || executed.record.slot > slots.at(commitment)) continue;
        told.add(commitment);
        for (const { subscription, deliver } of subscribers) {
          if (subscription.commitment !== commitment) continue;
          for (const result of subscription.onTransaction?.(executed) ?? []) deliver(result, false);
        }
      }
    }
    for (const entry of subscribers) tellOnce(entry);
  };

  ledger.onCommit((executed) => {
    if (subscribers.size === 0) return;
    const fresh = executed.map((one) => ({ executed: one, told: new Set<Subscription['commitment']>() }));
    waiting.push(...fresh);
    if (waiting.length > 2 * MAX_WAITING) waiting = waiting.slice(-MAX_WAITING);
    tellReached(fresh);
  });
  ledger.onSlot(async () => {
    if (subscribers.size === 0) {
      waiting = [];
      return;
    }
    for (const { subscription, deliver } of subscribers) {
      for (const result of subscription.onSlot?.() ?? []) deliver(result, false);
    }
    tellReached(waiting);
    waiting = waiting.filter(({ told }) => !told.has('finalized'));
  });

  return {
    add: (subscription, deliver) => {
      const entry = { subscription, deliver };
      subscribers.add(entry);
      // After the caller has answered with the subscription's number.
      setImmediate(() => {
        if (subscribers.has(entry)) tellOnce(entry);
      });
      return () => {
        subscribers.delete(entry);
      };
    },
  };
}
