import {
  Action,
  ApiError,
  findPayloadIssue,
  HALF_SURROGATE_ISSUE,
  type InitBatchRequest,
  MAX_PIPELINES_PER_BATCH,
  Pipeline,
  UNIMPLEMENTED_ACTIONS,
} from '@flywheel/api';
import { truncateInput } from '@flywheel/protocol';
import * as z from 'zod';
import { formatRequestPath, type InputIssue, toInputIssue } from '../../model/input-issue.ts';

/**
 * Parses the body of init, as `parseJson` read it. It looks for issues in this order over the whole request: shape,
 * emptiness, actions. The first issue is thrown.
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
  const parsed = Shape.safeParse(body, { reportInput: true });
  if (!parsed.success) throw new ApiError('ERR_INVALID_REQUEST', firstIssue(parsed.error, []));
  for (const [index, { payload }] of parsed.data.pipelines.entries()) {
    const problem = findPayloadIssue(payload);
    if (problem) {
      throw new ApiError('ERR_INVALID_REQUEST', { place: formatRequestPath(['pipelines', index, 'payload']), problem });
    }
  }
  return parsed.data;
}

function parseAction(action: unknown, path: Path): Action {
  const parsed = Action.safeParse(action, { reportInput: true });
  if (!parsed.success) throw new ApiError('ERR_FLYWHEEL_INVALID_ACTION', actionIssue(parsed.error, action, path));
  const problem = parsed.data.action === 'MEMO' ? findTextProblem(parsed.data.message) : null;
  if (problem)
    throw new ApiError('ERR_FLYWHEEL_INVALID_ACTION', { place: formatRequestPath([...path, 'message']), problem });
  return parsed.data;
}

function findTextProblem(text: string): string | null {
  if (!text.isWellFormed()) return HALF_SURROGATE_ISSUE;
  if (text.includes('\0')) return 'holds the character U+0000, which databases and explorers cannot show.';
  return null;
}

function actionIssue(error: z.ZodError, action: unknown, path: Path): InputIssue {
  const name = typeof action === 'object' && action !== null && 'action' in action ? action.action : undefined;
  const place = formatRequestPath([...path, 'action']);
  if (UNIMPLEMENTED_ACTIONS.some((unimplemented) => unimplemented === name)) {
    return { place, problem: `${String(name)} is declared but not implemented; ${KNOWN_ACTIONS} are.` };
  }
  if (error.issues[0]?.code !== 'invalid_union') return firstIssue(error, path);
  return { place, problem: `is ${describe(name)}; it must be one of ${KNOWN_ACTIONS}.` };
}

const KNOWN_ACTIONS = 'BURN, AIRDROP and MEMO';

function firstIssue(error: z.ZodError, base: Path): InputIssue {
  const [issue] = error.issues;
  if (!issue) throw new Error('A failed parse has no issue.', { cause: error });
  const { place, problem } = toInputIssue(issue, base);
  return { place, problem: `${problem}.` };
}

function describe(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'string') return JSON.stringify(truncateInput(value));
  return typeof value === 'object' ? 'an object' : String(value);
}
