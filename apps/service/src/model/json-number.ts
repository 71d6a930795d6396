/**
 * A number in JSON that a double cannot be trusted to hold exactly: more than 15 significant digits. It stands in the
 * parsed value where the number stood, so that whoever checks that place can say so.
 */
export class ImpreciseNumber {
  /** As written in the JSON text. */
  readonly imprecise: string;
  readonly significantDigits: number;

  constructor(imprecise: string) {
    this.imprecise = imprecise;
    this.significantDigits = significantDigits(imprecise);
  }
}

/** Up to here a decimal survives the way through a double and back (IEEE 754, DBL_DIG). */
export const MAX_SIGNIFICANT_DIGITS = 15;

/**
 * `JSON.parse`, with an `ImpreciseNumber` in place of every number that would lose digits.
 * @throws SyntaxError when the text is no JSON, is nested too deeply to walk, or has a key `__proto__`, which would set
 * a prototype when copied carelessly.
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, revive);
  } catch (error) {
    // The walk over the parsed value recurses; a text of brackets alone can exhaust the stack.
    if (error instanceof RangeError) throw new SyntaxError('The JSON is nested too deeply.', { cause: error });
    throw error;
  }
}

function revive(key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (key === '__proto__') throw new SyntaxError('The JSON has a key "__proto__".');
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined) return value;
  return significantDigits(source) > MAX_SIGNIFICANT_DIGITS ? new ImpreciseNumber(source) : value;
}

/** Digits between the first and the last that is not zero. */
function significantDigits(source: string): number {
  const [mantissa = ''] = source.split(/[eE]/);
  return mantissa.replace(/[-.]/g, '').replace(/^0+/, '').replace(/0+$/, '').length;
}
