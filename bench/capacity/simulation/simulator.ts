/**
 * Something that happens over simulated time. It yields the moment until which it waits, in milliseconds, or a lane in which
 * it wants a place; it continues when that has come.
 */
export type Process = Generator<number | Lane, void, void>;

/** Places that processes take in the order in which they ask. */
export interface Lane {
  /** Gives the caller's place to the one that has waited longest. */
  leave(): void;
  /** Number of processes that wait. */
  readonly waiting: number;
}

export interface Simulator {
  readonly nowMs: number;
  /** Starts a process at a moment that has not passed. */
  start(process: Process, atMs: number): void;
  openLane(places: number): Lane;
  /** Runs until nothing is left to happen, or until this moment. @returns the number of events. */
  run(untilMs: number): number;
}

/** Creates a simulator: a queue of moments, in which equal ones keep their order. */
export function createSimulator(): Simulator {
  const events = createHeap<Process>();
  const lanes = new WeakMap<Lane, OpenLane>();
  let nowMs = 0;

  /** Runs a process until it waits. */
  const proceed = (process: Process) => {
    for (;;) {
      const { value, done } = process.next();
      if (done === true) return;
      if (typeof value === 'number') {
        if (value <= nowMs) continue;
        events.push(value, process);
        return;
      }
      const lane = lanes.get(value);
      if (!lane) throw new Error('A process waits in a lane of another simulator.');
      if (lane.free > 0) {
        lane.free -= 1;
        continue;
      }
      lane.queue.push(process);
      return;
    }
  };

  return {
    get nowMs() {
      return nowMs;
    },
    start: (process, atMs) => events.push(Math.max(nowMs, atMs), process),
    openLane: (places) => {
      const open: OpenLane = { free: places, queue: [], first: 0 };
      const lane: Lane = {
        leave: () => {
          const next = open.queue[open.first];
          if (next === undefined) {
            open.free += 1;
            return;
          }
          open.first += 1;
          if (open.first > COMPACT && open.first * 2 > open.queue.length) {
            open.queue = open.queue.slice(open.first);
            open.first = 0;
          }
          events.push(nowMs, next);
        },
        get waiting() {
          return open.queue.length - open.first;
        },
      };
      lanes.set(lane, open);
      return lane;
    },
    run: (untilMs) => {
      let count = 0;
      for (let next = events.peek(); next !== undefined && next <= untilMs; next = events.peek()) {
        nowMs = next;
        proceed(events.pop());
        count++;
      }
      return count;
    },
  };
}

interface OpenLane {
  free: number;
  queue: Process[];
  /** Position of the one that has waited longest. */
  first: number;
}

/** Places before the first are cut off when there are more than so many. */
const COMPACT = 1_024;

interface Heap<Item> {
  push(at: number, item: Item): void;
  /** The earliest moment. */
  peek(): number | undefined;
  /** @throws Error if there is none. */
  pop(): Item;
}

/** Creates a binary heap of moments. It is our own, 40 lines, because an event of a day with millions must not allocate. */
function createHeap<Item>(): Heap<Item> {
  const moments: number[] = [];
  const orders: number[] = [];
  const items: Item[] = [];
  let order = 0;
  const isBefore = (at: number, sequence: number, place: number) => {
    const other = moments[place] ?? Number.POSITIVE_INFINITY;
    return at < other || (at === other && sequence < (orders[place] ?? Number.POSITIVE_INFINITY));
  };
  const put = (place: number, at: number, sequence: number, item: Item) => {
    moments[place] = at;
    orders[place] = sequence;
    items[place] = item;
  };
  // A place below the length is filled: the casts remove the undefined of other places.
  const move = (from: number, to: number) =>
    put(to, moments[from] as number, orders[from] as number, items[from] as Item);
  return {
    push: (at, item) => {
      const sequence = order++;
      let place = moments.length;
      while (place > 0) {
        const parent = (place - 1) >> 1;
        if (!isBefore(at, sequence, parent)) break;
        move(parent, place);
        place = parent;
      }
      put(place, at, sequence, item);
    },
    peek: () => moments[0],
    pop: () => {
      const [first] = items;
      const [at, sequence, item] = [moments.pop(), orders.pop(), items.pop()];
      if (first === undefined || at === undefined || sequence === undefined || item === undefined) {
        throw new Error('Nothing is left to happen.');
      }
      const length = moments.length;
      if (length === 0) return first;
      let place = 0;
      for (let child = 1; child < length; child = 2 * place + 1) {
        const right = child + 1;
        const least =
          right < length && isBefore(moments[right] as number, orders[right] as number, child) ? right : child;
        if (isBefore(at, sequence, least)) break;
        move(least, place);
        place = least;
      }
      put(place, at, sequence, item);
      return first;
    },
  };
}
