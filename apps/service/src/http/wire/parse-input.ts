import { ApiError, type Operation, type Problem } from '@flywheel/api';
import { truncateInput } from '@flywheel/protocol';
import type * as z from 'zod';
import { type InputIssue, toInputIssue } from '../../model/input-issue.ts';
import { toDoubles } from '../../model/json-number.ts';

/** A request as it came, its body as JSON. */
export interface RawInput {
  readonly headers: unknown;
  readonly params: unknown;
  readonly query: unknown;
  /** undefined when it was empty. */
  readonly body: unknown;
  /** Counts how often a header was sent: Node joins its values. */
  readonly timesSent: (header: string) => number;
}

/**
 * Parses each part of the request by the operation's schemas, for its handler.
 * @param options.checksBody the handler checks the body: it is passed on as it came, though not when it is empty.
 * @throws ApiError ERR_INVALID_REQUEST naming the first issue's place, and how many more there are.
 */
export function parseInput(operation: Operation, raw: RawInput, options: { readonly checksBody: boolean }): unknown {
  const issues: InputIssue[] = [];
  const input: { [part: string]: unknown } = {};
  for (const part of PARTS) {
    const schema = operation[part];
    if (!schema) continue;
    if (part === 'body' && raw.body === undefined) {
      issues.push({ place: 'body', problem: 'is empty; send JSON' });
    } else if (part === 'body' && options.checksBody) {
      input.body = raw.body;
    } else {
      const parsed = schema.safeParse(raw[part], { reportInput: true });
      if (parsed.success) input[part] = part === 'body' ? toDoubles(parsed.data) : parsed.data;
      else issues.push(...parsed.error.issues.map((issue) => describeIssue(issue, part, raw)));
      if (part === 'body') issues.push(...findUnstorableText(raw.body));
    }
  }
  const [first, ...others] = issues;
  if (first) {
    const more = others.length === 0 ? '.' : `, and ${others.length} more.`;
    const details = presentIssues(issues);
    throw new ApiError('ERR_INVALID_REQUEST', { place: first.place, problem: first.problem + more, details });
  }
  return input;
}

/** Presents the issues of a request as data: the first ones, and how many more there are. */
function presentIssues(issues: readonly InputIssue[]): Problem[] {
  const code = 'ERR_INVALID_REQUEST';
  const listed = issues
    .slice(0, MAX_ISSUES_LISTED)
    .map(({ place, problem }) => ({ code, place, message: `${problem}.` }));
  const left = issues.length - listed.length;
  return left === 0 ? listed : [...listed, { code, message: `And ${left} more.` }];
}

/** Enough for a person to correct a request. A body of 2 MiB can have thousands. */
const MAX_ISSUES_LISTED = 20;

/** In the order in which issues are named. */
const PARTS = ['headers', 'params', 'query', 'body'] as const;

/** Describes an issue. For a header that was sent twice, it says so instead: the joined value would mislead. */
function describeIssue(issue: z.core.$ZodIssue, part: (typeof PARTS)[number], { timesSent }: RawInput): InputIssue {
  const described = toInputIssue(issue, [part]);
  if (part !== 'headers') return described;
  const times = timesSent(String(issue.path[0]));
  if (times > 1) return { ...described, problem: `was sent ${times} times; send it once` };
  if (described.place !== 'headers.x-idempotency-key' || issue.input !== undefined) return described;
  return { ...described, problem: 'is missing; send a UUID of your own, one per batch' };
}

/**
 * PostgreSQL's text and jsonb hold neither U+0000 nor half of a surrogate pair, and JSON can spell both.
 * Iterative: a body is as deep as its sender likes.
 */
function findUnstorableText(body: unknown): InputIssue[] {
  if (!hasUnstorableText(body)) return [];
  const issues: InputIssue[] = [];
  const rest: { place: string; value: unknown }[] = [{ place: 'body', value: body }];
  for (let next = rest.pop(); next; next = rest.pop()) {
    const { place, value } = next;
    if (typeof value === 'string') {
      if (isUnstorable(value)) issues.push({ place, problem: 'must be Unicode text without U+0000' });
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, child] of Object.entries(value)) {
        const childPlace = Array.isArray(value) ? `${place}[${key}]` : `${place}.${truncateInput(key)}`;
        if (isUnstorable(key)) issues.push({ place, problem: 'must have field names without U+0000' });
        rest.push({ place: childPlace, value: child });
      }
    }
  }
  return issues;
}

/** Names no places, which would take ten times as long. */
function hasUnstorableText(body: unknown): boolean {
  const rest: unknown[] = [body];
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value === 'string' && isUnstorable(value)) return true;
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value) && Object.keys(value).some(isUnstorable)) return true;
    for (const child of Object.values(value)) rest.push(child);
  }
  return false;
}

function isUnstorable(text: string): boolean {
  return !text.isWellFormed() || text.includes('\0');
}
