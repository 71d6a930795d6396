import { ApiError, type Operation } from '@flywheel/api';
import type * as z from 'zod';

/** A request as it came, its body as JSON. */
export interface RawInput {
  readonly headers: unknown;
  readonly params: unknown;
  readonly query: unknown;
  /** undefined when it was empty. */
  readonly body: unknown;
}

/**
 * What a handler receives: each part of the request that the operation describes, parsed by its schema.
 * @param options.checksBody the handler checks the body: it is passed on as it came, though not when it is empty.
 * @throws ApiError ERR_INVALID_REQUEST naming the first fault's place, and how many more there are.
 */
export function parseInput(operation: Operation, raw: RawInput, options: { readonly checksBody: boolean }): unknown {
  const faults: Fault[] = [];
  const input: { [part: string]: unknown } = {};
  for (const part of PARTS) {
    const schema = operation[part];
    if (!schema) continue;
    if (part === 'body' && raw.body === undefined) {
      faults.push({ place: 'body', problem: 'is empty; send JSON' });
    } else if (part === 'body' && options.checksBody) {
      input.body = raw.body;
    } else {
      const parsed = schema.safeParse(raw[part], { reportInput: true });
      if (parsed.success) input[part] = parsed.data;
      else faults.push(...parsed.error.issues.map((issue) => describeIssue(part, issue)));
      if (part === 'body') faults.push(...findUnstorableText(raw.body));
    }
  }
  const [first, ...others] = faults;
  if (first) {
    const more = others.length === 0 ? '.' : `, and ${others.length} more.`;
    throw new ApiError('ERR_INVALID_REQUEST', { place: first.place, problem: first.problem + more });
  }
  return input;
}

/** In the order in which faults are named. */
const PARTS = ['headers', 'params', 'query', 'body'] as const;

interface Fault {
  readonly place: string;
  readonly problem: string;
}

function describeIssue(part: string, issue: z.core.$ZodIssue): Fault {
  return { place: placeOf(part, issue.path), problem: problemOf(issue) };
}

function placeOf(part: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (place, key) => place + (typeof key === 'number' ? `[${key}]` : `.${shorten(String(key))}`),
    part,
  );
}

function problemOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'is missing'
        : `must be ${article(issue.expected)}, not ${kindOf(issue.input)}`;
    case 'invalid_format':
      return FORMATS[issue.format] ?? issue.message;
    case 'too_small':
      if (issue.inclusive && issue.minimum === 1) return 'must not be empty';
      return issue.inclusive
        ? `must have at least ${issue.minimum} ${UNITS[issue.origin] ?? issue.origin}`
        : `must be greater than ${issue.minimum}`;
    case 'too_big':
      return `must have at most ${issue.maximum} ${UNITS[issue.origin] ?? issue.origin}`;
    case 'unrecognized_keys':
      return `has the unknown ${issue.keys.length === 1 ? 'field' : 'fields'} ${issue.keys.slice(0, 5).map(quote).join(', ')}`;
    case 'invalid_value':
      return `must be ${issue.values.map(quote).join(' or ')}`;
    default:
      return issue.message;
  }
}

/** By the names zod gives to formats; a pattern brings its own message. */
const FORMATS: { readonly [format: string]: string } = {
  guid: 'must be a UUID',
  base64: 'must be base64',
  datetime: 'must be an ISO 8601 date-time in UTC, e.g. 2026-11-21T14:02:11Z',
};

const UNITS: { readonly [origin: string]: string } = { string: 'characters', array: 'items' };

/**
 * PostgreSQL's text and jsonb hold neither U+0000 nor half of a surrogate pair, and JSON can spell both.
 * Iterative: a body is as deep as its sender likes.
 */
function findUnstorableText(body: unknown): Fault[] {
  const faults: Fault[] = [];
  const rest: { place: string; value: unknown }[] = [{ place: 'body', value: body }];
  for (let next = rest.pop(); next; next = rest.pop()) {
    const { place, value } = next;
    if (typeof value === 'string') {
      if (isUnstorable(value)) faults.push({ place, problem: 'must be Unicode text without U+0000' });
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, child] of Object.entries(value)) {
        const childPlace = Array.isArray(value) ? `${place}[${key}]` : `${place}.${shorten(key)}`;
        if (isUnstorable(key)) faults.push({ place, problem: 'must have field names without U+0000' });
        rest.push({ place: childPlace, value: child });
      }
    }
  }
  return faults;
}

function isUnstorable(text: string): boolean {
  return !text.isWellFormed() || text.includes('\0');
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return article(Array.isArray(value) ? 'array' : typeof value);
}

function article(noun: string): string {
  return `${/^[aeio]/.test(noun) ? 'an' : 'a'} ${noun}`;
}

/** What the caller names itself is quoted, though not at any length. */
function quote(value: unknown): string {
  return JSON.stringify(typeof value === 'string' ? shorten(value) : String(value));
}

function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 59)}…`;
}
