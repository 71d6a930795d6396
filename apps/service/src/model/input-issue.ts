import { describeIssue, formatPath, MAX_SIGNIFICANT_DIGITS, truncateInput } from '@flywheel/protocol';
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

/**
 * Formats a path into a request: `pipelines[2].actions[0].amount`; `body` for the body itself. Keys are the caller's,
 * and cut.
 */
export function formatRequestPath(path: readonly PropertyKey[]): string {
  const keys = path.map((key) => (typeof key === 'number' ? key : truncateInput(String(key))));
  return formatPath(keys, 'body');
}

function describeProblem(issue: z.core.$ZodIssue): string {
  if (issue.input instanceof ImpreciseNumber) {
    return `has ${issue.input.significantDigits} significant digits; at most ${MAX_SIGNIFICANT_DIGITS} are read exactly: round it, or split it into two actions`;
  }
  return describeIssue(issue);
}
