/** Estimates when a slot is finalized, from the finalized slots that a process reads of its cluster anyway. */
export interface FinalityPace {
  /**
   * Remembers the newest finalized slot of an answer.
   * @param nowMs a monotonic time.
   */
  saw(finalizedSlot: bigint, nowMs: number): void;
  /**
   * Returns the milliseconds until a slot is finalized: 0 if it is, infinite while the cluster finalizes nothing; null while
   * too little was seen to tell.
   */
  untilFinalMs(slot: bigint, nowMs: number): number | null;
}

interface Sighting {
  readonly slot: bigint;
  readonly atMs: number;
}

/** Slots differ by a few percent from minute to minute. */
const SPAN_MS = 60_000;
const MIN_SPAN_MS = 1_000;
/** A slot that is missed now and then, and the moment between a slot and the answer that tells it. */
const MARGIN_SLOTS = 2;

export function createFinalityPace(): FinalityPace {
  /** The pace is counted from `begin` to `newest`; `middle` becomes the next `begin`. */
  let begin: Sighting | null = null;
  let middle: Sighting | null = null;
  let newest: Sighting | null = null;
  return {
    saw: (slot, atMs) => {
      const sighting = { slot, atMs };
      if (newest !== null && slot < newest.slot) {
        // A node that is behind. If it lasts, the cluster has begun again.
        if (atMs - newest.atMs < SPAN_MS) return;
        begin = middle = null;
      }
      newest = sighting;
      begin ??= sighting;
      middle ??= sighting;
      if (atMs - middle.atMs >= SPAN_MS) [begin, middle] = [middle, sighting];
    },
    untilFinalMs: (slot, nowMs) => {
      if (begin === null || newest === null) return null;
      if (slot <= newest.slot) return 0;
      const [spanMs, slots] = [newest.atMs - begin.atMs, Number(newest.slot - begin.slot)];
      if (spanMs < MIN_SPAN_MS) return null;
      if (slots === 0) return Number.POSITIVE_INFINITY;
      const left = Number(slot - newest.slot) + MARGIN_SLOTS;
      return Math.max((left * spanMs) / slots - (nowMs - newest.atMs), 0);
    },
  };
}
