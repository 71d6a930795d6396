import {
  groupDigits,
  isPlainDecimal,
  MAX_DECIMALS,
  SOL_DECIMALS,
  toBaseUnits,
  toDecimal,
  writeSol,
} from '@flywheel/protocol';

/** Formats base units in whole tokens: `1,234.5`. */
export function formatBaseUnits(baseUnits: bigint, decimals: number): string {
  return groupDigits(toDecimal(baseUnits, decimals));
}

/** Converts lamports to SOL as decimal text without separators: `1234.5`. */
export function toSol(lamports: bigint | string): string {
  return toDecimal(BigInt(lamports), SOL_DECIMALS);
}

/** Formats lamports: `1,234.5 SOL`. */
export function formatSol(lamports: bigint | string): string {
  return writeSol(BigInt(lamports));
}

/** Share of a part in a whole, 0 to 1; any part of a whole of zero counts as 1. */
export function shareOf(part: bigint, whole: bigint): number {
  if (whole <= 0n) return part > 0n ? 1 : 0;
  // Four digits are more than a bar can show.
  return Math.min(1, Number((part * 10_000n) / whole) / 10_000);
}

/**
 * Converts decimal text to an integer that can be added and compared exactly. Never shown to people.
 * @throws Error when the text is not a decimal number.
 */
export function toFinestUnits(decimal: string): bigint {
  const units = toBaseUnits(decimal, MAX_DECIMALS);
  if (units === null) throw new Error(`“${decimal}” is not a decimal number with at most ${MAX_DECIMALS} decimals.`);
  return units;
}

/** Converts the integers of `toFinestUnits` back to decimal text. */
export function fromFinestUnits(units: bigint): string {
  return toDecimal(units, MAX_DECIMALS);
}

/** Checks a daily limit of a token with these decimals; returns the issue as a sentence, or null. */
export function limitIssue(limit: string, decimals: number): string | null {
  if (!isPlainDecimal(limit)) return 'Enter a number of tokens, for example 1000 or 0.5.';
  return toBaseUnits(limit, decimals) === null ? `The token has ${decimals} decimals; this number has more.` : null;
}
