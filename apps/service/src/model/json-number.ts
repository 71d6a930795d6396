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
 * Later code walks the parsed value by recursion, and a call stack holds about ten thousand frames. The deepest useful
 * body, a proof type with a JSON Schema, is far shallower than this.
 */
const MAX_DEPTH = 64;
/** Above what 2 MiB of the shortest actions hold: `{"action":"BURN","amount":1},` is three values. */
const MAX_VALUES = 250_000;

/** Fields of one object. V8 keeps larger ones as hash tables, which take ten times as long. No JSON Schema has as many. */
const MAX_FIELDS = 5_000;

/**
 * Parses JSON like `JSON.parse`, with an `ImpreciseNumber` in place of every number that would lose digits. It scans the text
 * itself, because a reviver takes forty times as long as the parsing, on the thread that answers everyone.
 * @throws SyntaxError if the text is not JSON, is nested too deeply, has too many values or fields, or has a key
 * `__proto__`, which could set the prototype of an object it is copied to.
 */
export function parseJson(text: string): unknown {
  const imprecise = scan(text);
  const parsed: unknown = JSON.parse(text);
  if (imprecise.length > 0) return replaceValues(JSON.parse(markNumbers(text, imprecise)), revive);
  // A key can be written with escapes.
  return text.includes('__proto__') || text.includes('\\u') ? replaceValues(parsed, revive) : parsed;
}

/**
 * Puts doubles in place of the imprecise numbers that validation has let pass, in place. They are numbers of a JSON Schema,
 * which a payload is compared with after its own numbers have become doubles.
 */
export function toDoubles(parsed: unknown): unknown {
  return replaceValues(parsed, (value) => (value instanceof ImpreciseNumber ? Number(value.imprecise) : value));
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Finds the numbers that would lose digits. The text need not be JSON. */
function scan(text: string): Span[] {
  const imprecise: Span[] = [];
  /** Values so far of each container that is open, the innermost last. */
  const open: { readonly isObject: boolean; values: number }[] = [];
  let values = 1;
  for (let position = 0; position < text.length; position++) {
    const code = text.charCodeAt(position);
    if (code === QUOTE) {
      position = endOfString(text, position);
    } else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      values += 1;
      open.push({ isObject: code === OPEN_BRACE, values: 1 });
      if (open.length > MAX_DEPTH) {
        throw new SyntaxError(`The JSON nests deeper than ${MAX_DEPTH} levels, at character ${position + 1}.`);
      }
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) {
      open.pop();
    } else if (code === COMMA) {
      values += 1;
      const container = open.at(-1);
      if (container !== undefined && ++container.values > MAX_FIELDS && container.isObject) {
        throw new SyntaxError(`The JSON has an object of more than ${MAX_FIELDS} fields.`);
      }
    } else if (isDigit(code)) {
      const end = endOfNumber(text, position);
      if (end - position > MAX_SIGNIFICANT_DIGITS && countDigits(text.slice(position, end)) > MAX_SIGNIFICANT_DIGITS) {
        imprecise.push({ start: text[position - 1] === '-' ? position - 1 : position, end });
      }
      position = end - 1;
    }
    if (values > MAX_VALUES) throw new SyntaxError(`The JSON has more than ${MAX_VALUES} values.`);
  }
  return imprecise;
}

function endOfString(text: string, start: number): number {
  for (let position = start + 1; position < text.length; position++) {
    const code = text.charCodeAt(position);
    if (code === BACKSLASH) position++;
    else if (code === QUOTE) return position;
  }
  return text.length;
}

function endOfNumber(text: string, start: number): number {
  let end = start;
  while (end < text.length && isInNumber(text.charCodeAt(end))) end++;
  return end;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Digits, `.`, `e`, `E`, `+` and `-`. */
function isInNumber(code: number): boolean {
  return isDigit(code) || code === 0x2e || code === 0x65 || code === 0x45 || code === 0x2b || code === 0x2d;
}

const BACKSLASH = 0x5c;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACKET = 0x5d;
const CLOSE_BRACE = 0x7d;

/** A text with U+0000 is refused wherever text is stored, so that a caller who sends this mark only gets another error. */
const MARK = '\0imprecise ';

/** Replaces numbers by marked strings. */
function markNumbers(text: string, spans: readonly Span[]): string {
  let copied = 0;
  const parts = spans.flatMap(({ start, end }) => {
    const before = text.slice(copied, start);
    copied = end;
    return [before, JSON.stringify(MARK + text.slice(start, end))];
  });
  return parts.join('') + text.slice(copied);
}

/** Returns the number that a marked string stands for, and any other value as it is. */
function revive(value: unknown): unknown {
  return typeof value === 'string' && value.startsWith(MARK) ? new ImpreciseNumber(value.slice(MARK.length)) : value;
}

/** Replaces values, in place. */
function replaceValues(parsed: unknown, replace: (value: unknown) => unknown): unknown {
  const root = { parsed };
  const rest: { [key: string]: unknown }[] = [root];
  for (let container = rest.pop(); container; container = rest.pop()) {
    for (const key of Object.keys(container)) {
      if (key === '__proto__') throw new SyntaxError('The JSON has a key "__proto__".');
      const value = container[key];
      const replaced = replace(value);
      if (replaced !== value) {
        container[key] = replaced;
      } else if (typeof value === 'object' && value !== null) {
        // JSON.parse makes only plain objects and arrays, whose elements are keys as well.
        rest.push(value as { [key: string]: unknown });
      }
    }
  }
  return root.parsed;
}

/** Counts the significant digits of a JSON number. Sign and exponent do not count. */
function countDigits(source: string): number {
  const [mantissa = ''] = source.split(/[eE]/);
  return significantDigits(mantissa.replace('-', ''));
}
