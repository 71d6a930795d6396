import { recipientsOf } from './item.ts';
import type { StoredItem } from './store.ts';

/** The items that wait because a limit refuses them alone, and until when. A restart forgets them, and tries once more. */
export interface Deferrals {
  /** Defers an item; with recipients, everything that pays one of them. */
  defer(item: StoredItem, recipients: readonly string[], untilMs: number): void;
  /** True if a limit refuses a recipient for the time being. */
  isDeferred(recipient: string): boolean;
  /** Time until which an item waits; null if it may be tried. */
  untilOf(item: StoredItem): number | null;
}

/** @param now milliseconds; for tests. */
export function createDeferrals(now: () => number = Date.now): Deferrals {
  const untilByItem = new Map<string, number>();
  const untilByRecipient = new Map<string, number>();
  const find = (deferred: Map<string, number>, name: string) => {
    const untilMs = deferred.get(name);
    if (untilMs === undefined) return [];
    if (untilMs > now()) return [untilMs];
    deferred.delete(name);
    return [];
  };
  return {
    defer(item, recipients, untilMs) {
      if (recipients.length === 0) untilByItem.set(item.id, untilMs);
      for (const each of recipients) untilByRecipient.set(each, untilMs);
    },
    isDeferred: (recipient) => find(untilByRecipient, recipient).length > 0,
    untilOf(item) {
      const times = [
        ...find(untilByItem, item.id),
        ...(untilByRecipient.size === 0 ? [] : recipientsOf(item).flatMap((each) => find(untilByRecipient, each))),
      ];
      return times.length === 0 ? null : Math.max(...times);
    },
  };
}
