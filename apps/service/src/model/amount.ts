/** The largest amount a token account holds: u64. */
const MAX_BASE_UNITS = 2n ** 64n - 1n;

/** What a batch, a day or a limit amounts to, in base units. */
export interface DailyTotals {
  readonly burnBaseUnits: bigint;
  readonly airdropBaseUnits: bigint;
}

/**
 * Whole tokens as decimal text to base units, exactly.
 * @throws RangeError when the text is no plain or exponent decimal, is negative, has more fraction digits than
 * `decimals`, or exceeds u64; the message starts with what was given.
 */
export function parseTokens(amountTokens: string, decimals: number): bigint {
  const match = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(amountTokens);
  if (!match) throw new RangeError(`${amountTokens} is no decimal number of tokens.`);
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+(?=\d)/, '').replace(/0+$/, '') || '0';
  // Value = (whole + fraction without its trailing zeros) × 10^scale.
  const trailingZeros = (whole + fraction).length - (whole + fraction).replace(/0+$/, '').length;
  const scale = decimals + Number(exponent) - fraction.length + trailingZeros;
  if (/^0+$/.test(whole + fraction)) return 0n;
  if (scale < 0) {
    throw new RangeError(`${amountTokens} has more than the ${decimals} fraction digits of this mint.`);
  }
  // u64 has 20 digits: a longer number is refused before it is computed.
  if (digits.length + scale > 20) throw overflow(amountTokens, decimals);
  const amountBaseUnits = BigInt(digits) * 10n ** BigInt(scale);
  if (amountBaseUnits > MAX_BASE_UNITS) throw overflow(amountTokens, decimals);
  return amountBaseUnits;
}

/**
 * A JSON number of whole tokens to base units, exactly. The number must have been read from a text of at most 15
 * significant digits: up to there a double's shortest form is the text's own value (IEEE 754, DBL_DIG).
 * @throws RangeError when it is not positive, or as `parseTokens`.
 */
export function toBaseUnits(amountTokens: number, decimals: number): bigint {
  if (!(amountTokens > 0)) throw new RangeError(`${amountTokens} is not greater than zero.`);
  return parseTokens(String(amountTokens), decimals);
}

/** Base units as whole tokens, without trailing zeros and without separators: `1500000n, 6` is `1.5`. */
export function formatTokens(amountBaseUnits: bigint, decimals: number): string {
  const digits = amountBaseUnits.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

function overflow(amountTokens: string, decimals: number): RangeError {
  return new RangeError(
    `${amountTokens} exceeds ${formatTokens(MAX_BASE_UNITS, decimals)}, the most a token account of this mint holds.`,
  );
}
