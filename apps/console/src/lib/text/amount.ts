import { toDecimal } from '@flywheel/sdk';

/** Lamports in a SOL, as decimal places. */
export const SOL_DECIMALS = 9;

/** Decimal text with separators: `1234567.5` to `1,234,567.5`. */
export function withSeparators(decimal: string): string {
  const [whole = '', fraction] = decimal.split('.');
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (fraction === undefined ? '' : `.${fraction}`);
}

/** Base units as people read them: `1,234.5`. */
export function formatBaseUnits(baseUnits: bigint, decimals: number): string {
  return withSeparators(toDecimal(baseUnits, decimals));
}

/** Lamports, as a number or the wire's decimal text, in SOL: `1234.5`. */
export function toSol(lamports: bigint | string): string {
  return toDecimal(BigInt(lamports), SOL_DECIMALS);
}

/** Lamports as people read them: `1,234.5 SOL`. */
export function formatSol(lamports: bigint | string): string {
  return `${withSeparators(toSol(lamports))} SOL`;
}

/** How much of a whole a part is, 0 to 1; of nothing, everything is used. */
export function shareOf(part: bigint, whole: bigint): number {
  if (whole <= 0n) return part > 0n ? 1 : 0;
  // Four digits are more than any bar shows.
  return Math.min(1, Number((part * 10_000n) / whole) / 10_000);
}
