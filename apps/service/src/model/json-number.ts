import { MAX_SIGNIFICANT_DIGITS, significantDigits } from '@flywheel/protocol';

/**
 * A JSON number with too many significant digits to be exact as a double. It replaces the number in the parsed value, so
 * that validation of that place can report it.
 */
export class ImpreciseNumber {
  /** The number as written in the JSON text. */
  readonly imprecise: string;
  readonly significantDigits: number;

  constructor(imprecise: string) {
    this.imprecise = imprecise;
    this.significantDigits = countDigits(imprecise);
  }
}

/**
 * Parses JSON like `JSON.parse`, with an `ImpreciseNumber` in place of every number that would lose digits.
 * @throws SyntaxError if the text is not JSON, is nested too deeply, or has a key `__proto__`, which could set the
 * prototype of an object it is copied to.
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, revive);
  } catch (error) {
    // The reviver's traversal is recursive, so deep nesting can exhaust the stack.
    if (error instanceof RangeError) throw new SyntaxError('The JSON is nested too deeply.', { cause: error });
    throw error;
  }
}

function revive(key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (key === '__proto__') throw new SyntaxError('The JSON has a key "__proto__".');
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined) return value;
  return countDigits(source) > MAX_SIGNIFICANT_DIGITS ? new ImpreciseNumber(source) : value;
}

/** Counts the significant digits of a JSON number. Sign and exponent do not count. */
function countDigits(source: string): number {
  const [mantissa = ''] = source.split(/[eE]/);
  return significantDigits(mantissa.replace('-', ''));
}
