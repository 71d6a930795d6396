import { MAX_SIGNATURES_FOR_ADDRESS } from '@flywheel/protocol';
import type { ChainTransaction } from '../chain/read-transaction.ts';
import type { AccountHistory } from './account-history.ts';
import type { AuditNode, Entry } from './node.ts';

/** Reads transactions before they are needed, several at a time. */
export interface ReadAhead {
  /** Makes sure that every history that is not done knows its next entry. */
  fill(histories: readonly AccountHistory[]): Promise<void>;
  /** The transaction of an entry, which is the next of a history; null if no node has it any more. */
  readonly take: (entry: Entry) => Promise<ChainTransaction | null>;
}

/** Requests at a time: public nodes refuse many more of one client. */
export const READS_AT_ONCE = 8;
/** Transactions that are read ahead: each takes some 10 KiB of memory. */
const AHEAD = 64;
/** Entries of all histories that are kept: each takes some 200 bytes. */
const MAX_ENTRIES = 64_000;

export function readAhead(node: AuditNode): ReadAhead {
  const reads = new Map<string, { readonly slot: number; readonly result: Promise<ChainTransaction | null> }>();
  const limited = createLimit(READS_AT_ONCE);
  let known: readonly AccountHistory[] = [];

  const start = (entry: Entry) => {
    const result = limited(() => node.readTransaction(entry));
    // The reader of the entry gets the error; no other code waits for it.
    result.catch(() => undefined);
    reads.set(entry.signature, { slot: entry.slot, result });
    return result;
  };

  return {
    fill: async (histories) => {
      known = histories.filter((history) => !history.isDone());
      const limit = Math.min(MAX_SIGNATURES_FOR_ADDRESS, Math.max(1, Math.floor(MAX_ENTRIES / (known.length || 1))));
      const empty = known.filter(({ entries }) => entries.length === 0);
      await Promise.all(empty.map((history) => limited(() => history.fill(limit))));
      const newest = known.reduce((slot, { entries }) => Math.max(slot, entries[0]?.slot ?? 0), 0);
      for (const [signature, { slot }] of reads) if (slot > newest) reads.delete(signature);
    },
    take: (entry) => {
      const begun = reads.get(entry.signature)?.result;
      if (begun) return begun;
      const read = start(entry);
      for (const next of nextEntries(known)) if (!reads.has(next.signature)) start(next);
      return read;
    },
  };
}

/** The entries that are needed next, of all histories together. */
function nextEntries(histories: readonly AccountHistory[]): Entry[] {
  const perHistory = Math.max(1, Math.floor((AHEAD * AHEAD) / (histories.length || 1)));
  return histories
    .flatMap(({ entries }) => entries.slice(0, Math.min(AHEAD, perHistory)).filter(({ hasFailed }) => !hasFailed))
    .toSorted((a, b) => b.slot - a.slot)
    .slice(0, AHEAD);
}

/** Creates a queue that starts a task when fewer than `atOnce` others run. */
export function createLimit(atOnce: number): <Result>(task: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (task) => {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      // The place goes to the next one.
      if (next) next();
      else running -= 1;
    }
  };
}
