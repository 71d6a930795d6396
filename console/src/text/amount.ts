/** Lamports in a SOL, as decimal places. */
export const SOL_DECIMALS = 9;

/** Base units to whole tokens as plain decimal text, e.g. 1500000n of 6 decimals to `1.5`. */
export function toDecimal(baseUnits: bigint, decimals: number): string {
  const sign = baseUnits < 0n ? '-' : '';
  const digits = (baseUnits < 0n ? -baseUnits : baseUnits).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

/**
 * Plain decimal text to base units; null when it is none, or finer than the decimals go.
 */
export function toBaseUnits(decimal: string, decimals: number): bigint | null {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d*))?$/.exec(decimal) ?? [];
  if (whole === undefined) return null;
  const significant = fraction.replace(/0+$/, '');
  return significant.length > decimals ? null : BigInt(whole + significant.padEnd(decimals, '0'));
}

/** Decimal text with separators: `1234567.5` to `1,234,567.5`. */
export function withSeparators(decimal: string): string {
  const [whole = '', fraction] = decimal.split('.');
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (fraction === undefined ? '' : `.${fraction}`);
}

/** Base units as people read them: `1,234.5`. */
export function formatBaseUnits(baseUnits: bigint, decimals: number): string {
  return withSeparators(toDecimal(baseUnits, decimals));
}

/** Lamports, as a number or the wire's decimal text, in SOL. */
export function formatSol(lamports: bigint | string): string {
  return `${formatBaseUnits(BigInt(lamports), SOL_DECIMALS)} SOL`;
}

/** How much of a whole a part is, 0 to 1; of nothing, everything is used. */
export function shareOf(part: bigint, whole: bigint): number {
  if (whole <= 0n) return part > 0n ? 1 : 0;
  // Four digits are more than any bar shows.
  return Math.min(1, Number((part * 10_000n) / whole) / 10_000);
}
