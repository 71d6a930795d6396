/** Length of the slices for which offered load is added up. */
export const SLICE_MS = 300_000;

/** Something scarce that serves work in the order of its arrival: cores, requests per second, bytes per second. */
export interface Station {
  readonly name: StationName;
  /** Units of work that it does in a millisecond. */
  readonly rate: number;
  /**
   * Books work from now on. Several servers count as one that is as fast as all of them, which makes work wait a little longer
   * than it would (Erlang's C is at most the utilisation); one server is exact.
   * @param own time that the longest piece needs by itself, in ms: no number of servers makes it faster.
   * @returns the moment at which all of it is done.
   */
  book(nowMs: number, work: number, ownMs: number): number;
  /** Takes a share of the station for the slice of this moment, from work that is not followed one by one. */
  occupy(atMs: number, work: number): void;
  /** Counts work as demanded at this moment, whenever it is done. */
  offer(atMs: number, work: number): void;
  /** Demanded work in all; and by capacity, on average and in the busiest slice: above 1 the queue grows. */
  utilisation(): { readonly total: number; readonly mean: number; readonly peak: number };
}

export type StationName =
  | 'serve CPU'
  | 'work CPU'
  | 'database CPU'
  | 'database WAL'
  | 'replication'
  | "standby's replay"
  | 'RPC requests'
  | 'engine requests'
  | "operator's account"
  | 'block'
  | 'shared cores';

/**
 * Creates a station.
 * @param rate units of work in a millisecond; a station with an infinite rate delays nothing but by the work's own time.
 */
export function createStation(name: StationName, rate: number, lengthMs: number): Station {
  const slices = Math.max(1, Math.ceil(lengthMs / SLICE_MS));
  const offered = new Float64Array(slices);
  const occupied = new Float64Array(slices);
  const capacity = rate * Math.min(SLICE_MS, lengthMs);
  const sliceOf = (atMs: number) => Math.min(slices - 1, Math.floor(atMs / SLICE_MS));
  let freeAtMs = 0;
  return {
    name,
    rate,
    book: (nowMs, work, ownMs) => {
      if (work === 0) return nowMs;
      const startMs = Math.max(nowMs, freeAtMs);
      const left = Math.max(LEAST_SHARE, 1 - (occupied[sliceOf(startMs)] ?? 0) / capacity);
      const takesMs = work / (rate * left);
      freeAtMs = startMs + takesMs;
      return startMs + Math.max(ownMs, takesMs);
    },
    occupy: (atMs, work) => {
      const slice = sliceOf(atMs);
      occupied[slice] = (occupied[slice] ?? 0) + work;
      offered[slice] = (offered[slice] ?? 0) + work;
    },
    offer: (atMs, work) => {
      const slice = sliceOf(atMs);
      offered[slice] = (offered[slice] ?? 0) + work;
    },
    utilisation: () => {
      const total = offered.reduce((sum, work) => sum + work, 0);
      return { total, mean: total / (rate * lengthMs), peak: Math.max(...offered) / capacity };
    },
  };
}

/** The share of a station that requests which are not followed leave to the others, even if they ask for more than there is. */
const LEAST_SHARE = 0.02;
