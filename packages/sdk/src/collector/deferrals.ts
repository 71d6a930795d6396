import { recipientsOf } from './item.ts';
import type { StoredItem } from './store.ts';

/** The items that wait because a limit refuses them alone, and until when. A restart forgets them, and tries once more. */
export interface Deferrals {
  /** Defers an item; with recipients, everything that pays one of them. */
  defer(item: StoredItem, recipients: readonly string[], waitMs: number): void;
  /** True if a limit refuses a recipient for the time being. */
  isDeferred(recipient: string): boolean;
  /** Milliseconds that an item still waits; null if it may be tried. */
  waitOf(item: StoredItem): number | null;
}

/** Creates an empty list, whose clock is the one of timers: a computer's clock that is set back would prolong the waits. */
export function createDeferrals(): Deferrals {
  const untilByItem = new Map<string, number>();
  const untilByRecipient = new Map<string, number>();
  const find = (deferred: Map<string, number>, name: string) => {
    const untilMs = deferred.get(name);
    if (untilMs === undefined) return [];
    if (untilMs > performance.now()) return [untilMs];
    deferred.delete(name);
    return [];
  };
  return {
    defer(item, recipients, waitMs) {
      const untilMs = performance.now() + waitMs;
      if (recipients.length === 0) untilByItem.set(item.id, untilMs);
      for (const each of recipients) untilByRecipient.set(each, untilMs);
    },
    isDeferred: (recipient) => find(untilByRecipient, recipient).length > 0,
    waitOf(item) {
      const times = [
        ...find(untilByItem, item.id),
        ...(untilByRecipient.size === 0 ? [] : recipientsOf(item).flatMap((each) => find(untilByRecipient, each))),
      ];
      return times.length === 0 ? null : Math.max(...times) - performance.now();
    },
  };
}
