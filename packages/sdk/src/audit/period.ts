import { FlywheelError } from '../errors.ts';
import type { Entry } from './node.ts';

/** A slot, or an ISO 8601 time. */
export type AuditBound = number | string;

/** The part of a history that an audit counts, both bounds included. */
export interface Period {
  /** null for the beginning. */
  readonly from: AuditBound | null;
  /** null for the newest slot. */
  readonly to: AuditBound | null;
  /** The newest slot that the audit reads. */
  readonly headSlot: number;
}

/** @throws RangeError for a bound that is neither a slot nor a time, or bounds in the wrong order. */
export function requirePeriod({ from, to }: Pick<Period, 'from' | 'to'>): void {
  for (const bound of [from, to]) if (bound !== null) numberOf(bound);
  if (from === null || to === null || typeof from !== typeof to) return;
  if (numberOf(from) > numberOf(to)) throw new RangeError(`A period cannot begin at ${from} and end at ${to}.`);
}

/**
 * Requires that the period has begun: of one that begins after the newest slot nothing can be said.
 * @param headTime the cluster's time at that slot, in seconds since 1970; null if it is not known.
 * @throws RangeError
 */
export function requireBegun({ from, headSlot }: Period, headTime: number | null): void {
  const head = typeof from === 'number' ? headSlot : headTime;
  if (from === null || head === null || numberOf(from) <= head) return;
  throw new RangeError(`The period begins at ${from}, after slot ${headSlot}, the newest of the node.`);
}

/** @throws FlywheelError if the node does not know the time of the entry, and the bound is a time. */
export function isAfter(entry: Entry, { to, headSlot }: Period): boolean {
  return entry.slot > headSlot || (to !== null && placeOf(entry, to) > numberOf(to));
}

/** @throws FlywheelError as `isAfter`. */
export function isBefore(entry: Entry, { from }: Period): boolean {
  return from !== null && placeOf(entry, from) < numberOf(from);
}

/** A bound as a slot, or as seconds since 1970. */
function numberOf(bound: AuditBound): number {
  const value = typeof bound === 'number' ? bound : Date.parse(bound) / 1_000;
  if (typeof bound === 'number' ? Number.isSafeInteger(value) && value >= 0 : Number.isFinite(value)) return value;
  throw new RangeError(`“${bound}” is neither a slot nor an ISO 8601 time.`);
}

function placeOf({ slot, blockTime }: Entry, bound: AuditBound): number {
  if (typeof bound === 'number') return slot;
  if (blockTime !== null) return blockTime;
  const message = `The node does not know the time of slot ${slot}. Give the period in slots.`;
  throw new FlywheelError({ code: 'ERR_UNEXPECTED_REPLY', message });
}
