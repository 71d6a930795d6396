/**
 * Base units to whole tokens as plain decimal text.
 *
 * @example
 * toDecimal(1_500_000n, 6); // '1.5'
 */
export function toDecimal(baseUnits: bigint, decimals: number): string {
  const sign = baseUnits < 0n ? '-' : '';
  const digits = (baseUnits < 0n ? -baseUnits : baseUnits).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

/**
 * Plain decimal text to base units; null when it is none, or finer than the decimals go.
 *
 * @example
 * toBaseUnits('1.5', 6); // 1500000n
 */
export function toBaseUnits(decimal: string, decimals: number): bigint | null {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d*))?$/.exec(decimal) ?? [];
  if (whole === undefined) return null;
  const significant = fraction.replace(/0+$/, '');
  return significant.length > decimals ? null : BigInt(whole + significant.padEnd(decimals, '0'));
}

/**
 * A JSON number as plain decimal text, digit for digit as it is written.
 *
 * @example
 * decimalOf(1e-7); // '0.0000001'
 */
export function decimalOf(value: number): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? [];
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  const padded = digits.padStart(digits.length + Math.max(0, 1 - point), '0').padEnd(point, '0');
  const at = Math.max(1, point);
  const tail = padded.slice(at);
  return `${sign}${padded.slice(0, at)}${tail === '' ? '' : `.${tail}`}`;
}
