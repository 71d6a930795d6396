import { formatPath, MAX_SIGNIFICANT_DIGITS, truncate } from '@flywheel/protocol';
import type * as z from 'zod';
import { ImpreciseNumber } from './json-number.ts';

/** Describes an invalid value of a request. */
export interface InputIssue {
  /** Path of the value, e.g. `pipelines[2].actions[0].amount`. */
  readonly place: string;
  /** Sentence without its subject, which is the place, and without a period: `must be a number, not a string`. */
  readonly problem: string;
}

/**
 * Describes an issue that zod found. The value must have been parsed with `reportInput: true`.
 * @param base path of the parsed value in the request.
 */
export function toInputIssue(issue: z.core.$ZodIssue, base: readonly PropertyKey[]): InputIssue {
  return { place: formatRequestPath([...base, ...issue.path]), problem: describeProblem(issue) };
}

/** Formats a path into a request: `pipelines[2].actions[0].amount`; `body` for the body itself. Keys are the caller's, and cut. */
export function formatRequestPath(path: readonly PropertyKey[]): string {
  const keys = path.map((key) => (typeof key === 'number' ? key : truncateInput(String(key))));
  return formatPath(keys, 'body');
}

/** Cuts text of the caller that a message repeats. */
export function truncateInput(text: string): string {
  return truncate(text, MAX_QUOTED_CHARACTERS);
}

const MAX_QUOTED_CHARACTERS = 60;

function describeProblem(issue: z.core.$ZodIssue): string {
  if (issue.input instanceof ImpreciseNumber) {
    return `has ${issue.input.significantDigits} significant digits; at most ${MAX_SIGNIFICANT_DIGITS} are read exactly: round it, or split it into two actions`;
  }
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'is missing'
        : `must be ${withArticle(issue.expected)}, not ${kindOf(issue.input)}`;
    case 'invalid_format':
      return FORMATS[issue.format] ?? issue.message;
    case 'too_small':
      if (issue.inclusive && issue.minimum === 1) return 'must not be empty';
      return issue.inclusive
        ? `must have at least ${issue.minimum} ${UNITS[issue.origin] ?? issue.origin}`
        : `must be greater than ${issue.minimum}`;
    case 'too_big': {
      const given = Array.isArray(issue.input) ? `, not ${issue.input.length}` : '';
      return `must have at most ${issue.maximum} ${UNITS[issue.origin] ?? issue.origin}${given}`;
    }
    case 'unrecognized_keys': {
      const named = issue.keys.slice(0, MAX_KEYS_NAMED).map(quote).join(', ');
      return `has the unknown ${issue.keys.length === 1 ? 'field' : 'fields'} ${named}`;
    }
    case 'invalid_value':
      return `must be ${issue.values.map(quote).join(' or ')}`;
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
  if (value === null || value === Infinity || value === -Infinity) return String(value);
  return withArticle(Array.isArray(value) ? 'array' : typeof value);
}

function withArticle(noun: string): string {
  return `${/^[aeio]/.test(noun) ? 'an' : 'a'} ${noun}`;
}

function quote(value: unknown): string {
  return JSON.stringify(typeof value === 'string' ? truncateInput(value) : String(value));
}
