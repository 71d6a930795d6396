import type { CollectedItem, CollectorStore, ItemState } from '@flywheel/sdk/collector';
import { movedBaseUnits } from './event.ts';

export interface HourlyLimits {
  readonly events: number;
  readonly baseUnits: bigint;
}

/** Counts what was accepted in the last hour, against its caps. */
export interface HourlyCaps {
  /** Counts an event if it fits. @returns null if it does not fit now, otherwise a function that takes it off again. */
  take(baseUnits: bigint): (() => void) | null;
}

interface Minute {
  readonly number: number;
  events: number;
  baseUnits: bigint;
}

const MINUTE_MS = 60_000;
const HOUR_MINUTES = 60;

/** Milliseconds of the computer's clock, and of the one of timers, which cannot be set: for tests. */
interface Clocks {
  readonly now?: () => number;
  readonly elapsedMs?: () => number;
}

/**
 * Opens the caps with what the store has accepted in the last hour, so that a restart allows nothing more. From then on the clock
 * of timers counts: a computer's clock that is set back would close the caps for as long, and one that is set forward open them.
 * @param decimals of the project's token.
 */
export async function openHourlyCaps(
  store: CollectorStore,
  limits: HourlyLimits,
  { decimals, now = Date.now, elapsedMs = () => performance.now() }: { readonly decimals: number } & Clocks,
): Promise<HourlyCaps> {
  // By minute, because an hour may have more events than a list should hold.
  let minutes: Minute[] = [];
  const count = (atMs: number, baseUnits: bigint): Minute => {
    const number = Math.floor(atMs / MINUTE_MS);
    let minute = minutes.find((each) => each.number === number);
    if (!minute) {
      minute = { number, events: 0, baseUnits: 0n };
      minutes.push(minute);
    }
    minute.events += 1;
    minute.baseUnits += baseUnits;
    return minute;
  };
  const openedAtMs = now();
  for (const state of STATES) {
    for await (const { atMs, item } of readSince(store, state, openedAtMs - HOUR_MINUTES * MINUTE_MS)) {
      // One of the future was accepted before the clock was set back.
      const ageMs = Math.max(0, openedAtMs - atMs);
      // An event whose amount the token cannot have is never paid.
      count(elapsedMs() - ageMs, movedBaseUnits(item, decimals) ?? 0n);
    }
  }
  return {
    take(baseUnits) {
      const first = Math.floor(elapsedMs() / MINUTE_MS) - HOUR_MINUTES;
      minutes = minutes.filter(({ number }) => number >= first);
      const events = minutes.reduce((sum, minute) => sum + minute.events, 0);
      const moved = minutes.reduce((sum, minute) => sum + minute.baseUnits, 0n);
      if (events >= limits.events || moved + baseUnits > limits.baseUnits) return null;
      const minute = count(elapsedMs(), baseUnits);
      return () => {
        minute.events -= 1;
        minute.baseUnits -= baseUnits;
      };
    },
  };
}

const STATES = ['pending', 'paid', 'quarantined', 'dropped'] as const satisfies readonly ItemState[];

const PAGE = 1_000;

/** Reads the items of a state that were accepted at a time or later. */
async function* readSince(store: CollectorStore, state: ItemState, sinceMs: number) {
  let after = await findStart(store, state, sinceMs);
  for (;;) {
    const items = await store.read({ state, after, limit: PAGE });
    for (const { acceptedAtMs, content, id } of items) {
      // The collector writes the content of an item: its type, payload and actions.
      if (acceptedAtMs >= sinceMs) yield { atMs: acceptedAtMs, item: { id, ...JSON.parse(content) } as CollectedItem };
    }
    const last = items.at(-1);
    if (!last) return;
    after = last.sequence;
  }
}

/** Bisects: the store keeps the order of acceptance, and the items of an hour are the last of possibly millions. */
async function findStart(store: CollectorStore, state: ItemState, sinceMs: number): Promise<number> {
  const isBefore = async (after: number) => {
    const [item] = await store.read({ state, after, limit: 1 });
    return item !== undefined && item.acceptedAtMs < sinceMs;
  };
  if (!(await isBefore(0))) return 0;
  let low = 0;
  let high = 1;
  for (; await isBefore(high); high *= 2) low = high;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await isBefore(middle)) low = middle;
    else high = middle;
  }
  return low;
}
