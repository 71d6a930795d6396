import { toBaseUnits, toDecimal } from '@flywheel/sdk';

/** Lamports in a SOL, as decimal places. */
export const SOL_DECIMALS = 9;

/** Decimal text with separators: `1234567.5` to `1,234,567.5`. */
export function groupDigits(decimal: string): string {
  const [whole = '', fraction] = decimal.split('.');
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (fraction === undefined ? '' : `.${fraction}`);
}

/** Base units as people read them: `1,234.5`. */
export function formatBaseUnits(baseUnits: bigint, decimals: number): string {
  return groupDigits(toDecimal(baseUnits, decimals));
}

/** Lamports, as a number or the wire's decimal text, in SOL: `1234.5`. */
export function toSol(lamports: bigint | string): string {
  return toDecimal(BigInt(lamports), SOL_DECIMALS);
}

/** Lamports as people read them: `1,234.5 SOL`. */
export function formatSol(lamports: bigint | string): string {
  return `${groupDigits(toSol(lamports))} SOL`;
}

/** How much of a whole a part is, 0 to 1; of nothing, everything is used. */
export function shareOf(part: bigint, whole: bigint): number {
  if (whole <= 0n) return part > 0n ? 1 : 0;
  // Four digits are more than any bar shows.
  return Math.min(1, Number((part * 10_000n) / whole) / 10_000);
}

/** Finer than any amount of the wire, so that amounts of whatever token are added and compared exactly. */
const FINEST_DECIMALS = 20;

/**
 * A decimal text as a whole number of its finest units: to be added to others, compared and shared, never shown.
 * @throws Error when the text is no decimal number.
 */
export function toFinestUnits(decimal: string): bigint {
  const units = toBaseUnits(decimal, FINEST_DECIMALS);
  if (units === null)
    throw new Error(`“${decimal}” is no decimal number of at most ${FINEST_DECIMALS} fraction digits.`);
  return units;
}

/** What such units come to, as decimal text. */
export function fromFinestUnits(units: bigint): string {
  return toDecimal(units, FINEST_DECIMALS);
}

/** Why a text cannot be a daily limit of a token with so many decimals, a sentence; null when it can. */
export function limitError(limit: string, decimals: number): string | null {
  if (!/^\d+(\.\d+)?$/.test(limit)) return 'A number of whole tokens, e.g. 1000 or 0.5.';
  return toBaseUnits(limit, decimals) === null ? `The token has ${decimals} decimals; this has more.` : null;
}
