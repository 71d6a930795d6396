/** Counts the requests to the block engine, and refuses those beyond a limit. */
export interface EngineRequests {
  /** Counts calls that arrive together. @returns false if they are too many, and are not to be answered. */
  admit(calls: number): boolean;
  count(): EngineRequestCount;
}

export interface EngineRequestCount {
  readonly accepted: number;
  readonly refused: number;
}

/** Less than a second, because requests that leave a second apart need not arrive so. */
const WINDOW_MS = 900;

/** @param perSecond is Infinity for no limit. */
export function countEngineRequests(perSecond: number): EngineRequests {
  let [accepted, refused] = [0, 0];
  let recent: number[] = [];
  return {
    admit: (calls) => {
      const now = performance.now();
      recent = recent.filter((at) => now - at < WINDOW_MS);
      if (recent.length + calls > perSecond) {
        refused += calls;
        return false;
      }
      accepted += calls;
      if (Number.isFinite(perSecond)) recent.push(...Array.from({ length: calls }, () => now));
      return true;
    },
    count: () => ({ accepted, refused }),
  };
}
