/** One SOL is 10^9 lamports. */
export const SOL_DECIMALS = 9;

/** The most decimals of a token: a mint holds their number in one byte. */
export const MAX_DECIMALS = 255;

/** The largest amount of a token account, in base units: u64. */
export const MAX_BASE_UNITS = 2n ** 64n - 1n;

/** A JSON number of at most this many significant digits keeps its decimal value exactly (IEEE 754, DBL_DIG). */
export const MAX_SIGNIFICANT_DIGITS = 15;

/** Returns true if a text is plain decimal: digits, optionally with a decimal point and further digits. */
export function isPlainDecimal(text: string): boolean {
  return PLAIN_DECIMAL.test(text);
}

/**
 * Converts plain decimal text (digits with an optional decimal point) to base units. There is no upper bound.
 * @returns null if the text is not plain decimal, or has more fraction digits than `decimals`.
 *
 * @example
 * toBaseUnits('1.5', 6); // 1500000n
 */
export function toBaseUnits(decimal: string, decimals: number): bigint | null {
  const [, whole, fraction = ''] = PLAIN_DECIMAL.exec(decimal) ?? [];
  if (whole === undefined) return null;
  const significant = fraction.replace(/0+$/, '');
  return significant.length > decimals ? null : BigInt(whole + significant.padEnd(decimals, '0'));
}

/**
 * Converts base units to whole tokens as plain decimal text, without separators and without trailing zeros.
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
 * Converts whole tokens as plain decimal text to the base units of a token account.
 * @throws RangeError if the text is not plain decimal, has more fraction digits than `decimals`, or exceeds u64. The
 * message starts with the text.
 */
export function parseAmount(decimal: string, decimals: number): bigint {
  return parse(decimal, decimals, decimal);
}

/**
 * Converts a JSON number of whole tokens to the base units of a token account. The result is exact if the number was
 * written with at most `MAX_SIGNIFICANT_DIGITS` significant digits.
 * @throws RangeError if the number is not greater than zero, has more fraction digits than `decimals`, or exceeds u64.
 * The message starts with the number.
 */
export function parseAmountNumber(amount: number, decimals: number): bigint {
  if (!(amount > 0)) throw new RangeError(`${amount} is not greater than zero.`);
  return parse(decimalOf(amount), decimals, String(amount));
}

/**
 * Writes a JSON number as plain decimal text, without an exponent and digit for digit as JSON writes it.
 * @throws RangeError if the number is not finite.
 *
 * @example
 * decimalOf(1e-7); // '0.0000001'
 */
export function decimalOf(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`${value} is not a decimal number.`);
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? [];
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  const padded = digits.padStart(digits.length + Math.max(0, 1 - point), '0').padEnd(point, '0');
  const at = Math.max(1, point);
  const tail = padded.slice(at);
  return `${sign}${padded.slice(0, at)}${tail === '' ? '' : `.${tail}`}`;
}

/** Counts the significant digits of plain decimal text. An action's amount may have `MAX_SIGNIFICANT_DIGITS`. */
export function significantDigits(decimal: string): number {
  return decimal
    .replace(/(\.\d*?)0+$/, '$1')
    .replace('.', '')
    .replace(/^0+|0+$/g, '').length;
}

/**
 * Finds why an amount of an action, as plain decimal text, has too many digits.
 * @returns a sentence without its subject, which is the amount; null for one that has not too many.
 */
export function findDigitsIssue(amount: string): string | null {
  const digits = significantDigits(amount);
  if (digits <= MAX_SIGNIFICANT_DIGITS) return null;
  return `has ${digits} significant digits; an amount may have ${MAX_SIGNIFICANT_DIGITS}.`;
}

/**
 * Groups the whole part of plain decimal text in threes.
 *
 * @example
 * groupDigits('1234567.5'); // '1,234,567.5'
 */
export function groupDigits(decimal: string): string {
  const [whole = '', fraction] = decimal.split('.');
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (fraction === undefined ? '' : `.${fraction}`);
}

/** Writes base units with their unit: `1 token`, `1,000 tokens`. */
export function writeTokens(baseUnits: bigint, { decimals }: { readonly decimals: number }): string {
  const amount = toDecimal(baseUnits, decimals);
  return `${groupDigits(amount)} ${amount === '1' ? 'token' : 'tokens'}`;
}

/** Writes lamports with their unit: `1,000.5 SOL`. */
export function writeSol(lamports: bigint): string {
  return `${groupDigits(toDecimal(lamports, SOL_DECIMALS))} SOL`;
}

const PLAIN_DECIMAL = /^(\d+)(?:\.(\d+))?$/;

/** u64 has 20 digits. */
const MAX_DIGITS = 20;

/** @param given the amount as the caller wrote it, for the message. */
function parse(decimal: string, decimals: number, given: string): bigint {
  const [, whole, fraction = ''] = PLAIN_DECIMAL.exec(decimal) ?? [];
  if (whole === undefined) throw new RangeError(`${given} is not a decimal number of tokens.`);
  if (fraction.replace(/0+$/, '').length > decimals) {
    throw new RangeError(`${given} has more than the ${decimals} fraction digits of this mint.`);
  }
  // A long number is refused before it is computed: BigInt takes quadratic time.
  const isLong = whole.replace(/^0+/, '').length > MAX_DIGITS;
  const baseUnits = isLong ? null : toBaseUnits(decimal, decimals);
  if (baseUnits !== null && baseUnits <= MAX_BASE_UNITS) return baseUnits;
  const most = toDecimal(MAX_BASE_UNITS, decimals);
  throw new RangeError(`${given} exceeds ${most}, the largest amount of a token account of this mint.`);
}
