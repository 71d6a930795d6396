import {
  Action,
  ApiError,
  type InitBatchRequest,
  MAX_PAYLOAD_BYTES,
  MAX_PIPELINES_PER_BATCH,
  Pipeline,
  UNIMPLEMENTED_ACTIONS,
} from '@flywheel/api';
import * as z from 'zod';
import { ImpreciseNumber, MAX_SIGNIFICANT_DIGITS } from '../../model/json-number.ts';
import { placeOf } from './place.ts';

/**
 * The body of init, as `parseJson` read it, to its pipelines. Faults are found in this order over the whole request:
 * shape, emptiness, actions; the first one is thrown.
 * @throws ApiError ERR_INVALID_REQUEST, ERR_FLYWHEEL_NO_INSTRUCTIONS, ERR_FLYWHEEL_ACTIONS_EMPTY or
 * ERR_FLYWHEEL_INVALID_ACTION.
 */
export function parseInitRequest(body: unknown): InitBatchRequest {
  const { pipelines } = parseShape(body);
  if (pipelines.length === 0) throw new ApiError('ERR_FLYWHEEL_NO_INSTRUCTIONS');
  const empty = pipelines.findIndex(({ actions }) => actions.length === 0);
  if (empty >= 0) throw new ApiError('ERR_FLYWHEEL_ACTIONS_EMPTY', { pipeline: empty });
  return {
    pipelines: pipelines.map((pipeline, index) => ({
      ...pipeline,
      actions: pipeline.actions.map((action, position) =>
        parseAction(action, ['pipelines', index, 'actions', position]),
      ),
    })),
  };
}

type Path = readonly PropertyKey[];

const Shape = z.strictObject({
  pipelines: z.array(Pipeline.extend({ actions: z.array(z.unknown()) })).max(MAX_PIPELINES_PER_BATCH),
});

function parseShape(body: unknown): z.output<typeof Shape> {
  const parsed = Shape.safeParse(body);
  if (!parsed.success) throw new ApiError('ERR_INVALID_REQUEST', faultOf(parsed.error, body, []));
  for (const [index, { payload }] of parsed.data.pipelines.entries()) {
    const problem = payloadProblem(payload);
    if (problem)
      throw new ApiError('ERR_INVALID_REQUEST', { place: placeOf(['pipelines', index, 'payload']), problem });
  }
  return parsed.data;
}

function payloadProblem(payload: string): string | null {
  const bytes = Buffer.byteLength(payload);
  if (bytes > MAX_PAYLOAD_BYTES) return `has ${bytes} bytes; at most ${MAX_PAYLOAD_BYTES} are taken.`;
  // Its hash is taken over UTF-8, which cannot express half a character.
  if (!payload.isWellFormed()) return 'holds half of a surrogate pair, which UTF-8 cannot express.';
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch (cause) {
    return `is not the text of a JSON object (${cause instanceof Error ? cause.message : String(cause)}).`;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return null;
  return `must be the text of one JSON object, not of ${describe(value)}.`;
}

function parseAction(action: unknown, path: Path): Action {
  const parsed = Action.safeParse(action);
  if (!parsed.success) throw new ApiError('ERR_FLYWHEEL_INVALID_ACTION', actionFault(parsed.error, action, path));
  const problem = parsed.data.action === 'MEMO' ? textProblem(parsed.data.message) : null;
  if (problem) throw new ApiError('ERR_FLYWHEEL_INVALID_ACTION', { place: placeOf([...path, 'message']), problem });
  return parsed.data;
}

function textProblem(text: string): string | null {
  if (!text.isWellFormed()) return 'holds half of a surrogate pair, which UTF-8 cannot express.';
  if (text.includes('\0')) return 'holds the character U+0000, which no database or explorer shows as it is.';
  return null;
}

function actionFault(error: z.ZodError, action: unknown, path: Path): { place: string; problem: string } {
  const name = typeof action === 'object' && action !== null && 'action' in action ? action.action : undefined;
  const place = placeOf([...path, 'action']);
  if (UNIMPLEMENTED_ACTIONS.some((unimplemented) => unimplemented === name)) {
    return { place, problem: `${String(name)} is declared but not implemented; ${KNOWN_ACTIONS} are.` };
  }
  const [issue] = error.issues;
  if (issue?.code === 'invalid_union')
    return { place, problem: `is ${describe(name)}; it must be one of ${KNOWN_ACTIONS}.` };
  return faultOf(error, action, path);
}

const KNOWN_ACTIONS = 'BURN, AIRDROP and MEMO';

/** zod's first issue in our words; `value` is what was parsed and `path` where it stands in the request. */
function faultOf(error: z.ZodError, value: unknown, path: Path): { place: string; problem: string } {
  const [issue] = error.issues;
  if (!issue) throw new Error('A failed parse has no issue.', { cause: error });
  if (issue.code === 'unrecognized_keys') {
    return {
      place: placeOf([...path, ...issue.path, ...issue.keys.slice(0, 1)]),
      problem: 'is no field of this object.',
    };
  }
  return { place: placeOf([...path, ...issue.path]), problem: explain(issue, valueAt(value, issue.path)) };
}

function explain(issue: z.core.$ZodIssue, value: unknown): string {
  if (value instanceof ImpreciseNumber) {
    return `has ${value.significantDigits} significant digits; at most ${MAX_SIGNIFICANT_DIGITS} are read exactly.`;
  }
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined ? `is missing; ${expected(issue)}.` : `is ${describe(value)}; ${expected(issue)}.`;
    case 'too_big':
      return Array.isArray(value)
        ? `has ${value.length} entries; at most ${issue.maximum} are taken.`
        : `${issue.message}.`;
    case 'too_small':
      return typeof value === 'number' ? `${value} is not greater than zero.` : 'is empty.';
    default:
      return `${issue.message}.`;
  }
}

function expected(issue: { readonly expected: string }): string {
  return `it must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`;
}

function describe(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'string') return JSON.stringify(value.slice(0, MAX_QUOTED_CHARACTERS));
  return typeof value === 'object' ? 'an object' : String(value);
}

/** What a message repeats of a caller's own text. */
const MAX_QUOTED_CHARACTERS = 64;

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), value);
}

function isRecord(value: unknown): value is { readonly [key: PropertyKey]: unknown } {
  return typeof value === 'object' && value !== null;
}
