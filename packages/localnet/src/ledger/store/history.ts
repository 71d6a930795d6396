import type { Address } from '@solana/kit';
import type { TransactionSummary } from './transaction-record.ts';

/** A page of an address's transactions. `before` and `until` are signatures, both exclusive. */
export interface Page {
  readonly limit: number;
  readonly before: string | null;
  readonly until: string | null;
  readonly newestSlot: bigint;
}

/**
 * The index of the known transactions, numbered in the order of execution. It is in memory: on disk each signature and
 * address would use a page of its own, several times the cost of a commit.
 */
export interface History {
  /** Number of the newest transaction ever; 0 if there was none. */
  newest(): number;
  /** Number of the oldest known one; one above the newest if there is none. */
  oldest(): number;
  add(summary: TransactionSummary, addresses: readonly Address[]): void;
  at(number: number): TransactionSummary | null;
  find(signature: string): number | null;
  /** Lists an address's transactions, newest first. */
  ofAddress(address: Address, page: Page): TransactionSummary[];
  /** Number of the first transaction in a slot or later. */
  firstFrom(slot: bigint): number;
  /** Deletes everything from a number on; the next transaction gets that number. */
  forgetFrom(number: number): void;
  /** Deletes everything below a number. */
  forgetBelow(number: number): void;
}

/** Creates an empty history; `oldest` is the number of the first transaction that will be added. */
export function createHistory(oldest: number): History {
  const numbers = new Map<string, number>();
  const byAddress = new Map<Address, number[]>();
  let entries: TransactionSummary[] = [];
  let first = oldest;

  const at = (number: number) => entries[number - first] ?? null;
  return {
    newest: () => first + entries.length - 1,
    oldest: () => first,
    at,
    find: (signature) => numbers.get(signature) ?? null,
    add: (summary, addresses) => {
      const number = first + entries.length;
      entries.push(summary);
      numbers.set(summary.signature, number);
      for (const address of addresses) {
        const known = byAddress.get(address);
        if (known) known.push(number);
        else byAddress.set(address, [number]);
      }
    },
    ofAddress: (address, { limit, before, until, newestSlot }) => {
      const below = before === null ? Number.POSITIVE_INFINITY : (numbers.get(before) ?? 0);
      const above = until === null ? 0 : (numbers.get(until) ?? 0);
      const candidates = byAddress.get(address) ?? [];
      const found: TransactionSummary[] = [];
      for (let index = candidates.length - 1; index >= 0 && found.length < limit; index--) {
        const number = candidates[index] ?? 0;
        if (number <= above) break;
        const summary = number < below ? at(number) : null;
        if (summary && summary.slot <= newestSlot) found.push(summary);
      }
      return found;
    },
    firstFrom: (slot) => {
      // Slots never decrease, so binary search works.
      let [low, high] = [0, entries.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((entries[middle]?.slot ?? slot) < slot) low = middle + 1;
        else high = middle;
      }
      return first + low;
    },
    forgetFrom: (number) => {
      for (const { signature } of entries.splice(number - first)) numbers.delete(signature);
      for (const [address, known] of byAddress) {
        const kept = known.filter((each) => each < number);
        if (kept.length === 0) byAddress.delete(address);
        else if (kept.length < known.length) byAddress.set(address, kept);
      }
    },
    forgetBelow: (number) => {
      for (const { signature } of entries.slice(0, number - first)) numbers.delete(signature);
      entries = entries.slice(number - first);
      first = number;
      for (const [address, known] of byAddress) {
        const kept = known.findIndex((each) => each >= number);
        if (kept < 0) byAddress.delete(address);
        else if (kept > 0) byAddress.set(address, known.slice(kept));
      }
    },
  };
}
