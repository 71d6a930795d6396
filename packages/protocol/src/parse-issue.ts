import { truncate } from './wording.ts';

/** The part of a zod error that is read here: this package needs no zod. */
export interface ParseError {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
}

/** An issue that zod has found in a value. */
export interface ParseIssue {
  /** Path of the value, such as `pipelines[2].actions[0].amount`. */
  readonly place: string;
  readonly message: string;
}

/**
 * Describes the first issue that zod found.
 * @param whole names the parsed value itself.
 * @param base path of the parsed value in a larger one, with which every place begins; `whole` is not used then.
 */
export function firstParseIssue(
  { issues: [issue] }: ParseError,
  whole: string,
  base: readonly PropertyKey[] = [],
): ParseIssue {
  return { place: formatPath([...base, ...(issue?.path ?? [])], whole), message: issue?.message ?? 'is not valid' };
}

/**
 * Formats a path into a value as the service names places: `pipelines[2].actions[0].amount`.
 * @param whole names the value itself, whose path is empty.
 */
export function formatPath(path: readonly PropertyKey[], whole: string): string {
  if (path.length === 0) return whole;
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '');
}

/** An issue as zod reports it with `reportInput: true`. Its code says which fields it has. */
export interface ReportedIssue {
  readonly code?: string | undefined;
  readonly message: string;
  readonly input?: unknown;
  readonly expected?: string;
  readonly format?: string;
  readonly inclusive?: boolean | undefined;
  readonly minimum?: number | bigint;
  readonly maximum?: number | bigint;
  readonly origin?: string;
  readonly keys?: readonly string[];
  readonly values?: readonly unknown[];
  readonly options?: readonly unknown[];
}

/**
 * Describes an issue in a sentence without its subject, which is the place, and without a period:
 * `must be a number, not a string`.
 */
export function describeIssue(issue: ReportedIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'is missing'
        : `must be ${withArticle(issue.expected ?? 'value')}, not ${kindOf(issue.input)}`;
    case 'invalid_format':
      return FORMATS[issue.format ?? ''] ?? issue.message;
    case 'too_small':
      if (issue.inclusive && issue.minimum === 1) return 'must not be empty';
      return issue.inclusive
        ? `must have at least ${issue.minimum} ${UNITS[issue.origin ?? ''] ?? issue.origin}`
        : `must be greater than ${issue.minimum}`;
    case 'too_big': {
      const given = Array.isArray(issue.input) ? `, not ${issue.input.length}` : '';
      return `must have at most ${issue.maximum} ${UNITS[issue.origin ?? ''] ?? issue.origin}${given}`;
    }
    case 'unrecognized_keys': {
      const { keys = [] } = issue;
      const named = keys.slice(0, MAX_KEYS_NAMED).map(quote).join(', ');
      return `has the unknown ${keys.length === 1 ? 'field' : 'fields'} ${named}`;
    }
    case 'invalid_value':
      return `must be ${(issue.values ?? []).map(quote).join(' or ')}`;
    case 'invalid_union':
      // A union without options has no property that tells its members apart.
      return issue.options ? `must be ${issue.options.map(quote).join(' or ')}` : issue.message;
    default:
      return issue.message;
  }
}

/** Sentences for zod's formats. A pattern has its own message. */
const FORMATS: { readonly [format: string]: string } = {
  guid: 'must be a UUID',
  base64: 'must be base64',
  datetime: 'must be an ISO 8601 date-time in UTC, e.g. 2026-11-21T14:02:11Z',
};

const UNITS: { readonly [origin: string]: string } = { string: 'characters', array: 'items' };
const MAX_KEYS_NAMED = 5;

function kindOf(value: unknown): string {
  if (value === null || (typeof value === 'number' && !Number.isFinite(value))) return String(value);
  return withArticle(Array.isArray(value) ? 'array' : typeof value);
}

function withArticle(noun: string): string {
  return `${/^[aeio]/.test(noun) ? 'an' : 'a'} ${noun}`;
}

function quote(value: unknown): string {
  return JSON.stringify(typeof value === 'string' ? truncateInput(value) : String(value));
}

/** Cuts text of the caller that a message repeats. */
export function truncateInput(text: string): string {
  return truncate(text, MAX_QUOTED_CHARACTERS);
}

const MAX_QUOTED_CHARACTERS = 60;
