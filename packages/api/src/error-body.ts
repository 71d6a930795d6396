import { type ApiError, isApiError } from './api-error.ts';
import type { ErrorCode } from './error-codes.ts';

/** Builds the body that answers an error: its code, its sentence, the problems whose place is known, the cap if it is one. */
export function errorBody(error: Pick<ApiError, 'code' | 'message' | 'context'>) {
  const problems = problemsOf(error);
  return {
    error: error.code,
    message: error.message,
    ...(problems.length > 0 && { problems: [...problems] }),
    ...(isApiError(error, 'ERR_CAP_REACHED') && { cap: error.context.cap }),
  };
}

function problemsOf({ code, message, context }: Pick<ApiError, 'code' | 'message' | 'context'>) {
  if (typeof context !== 'object') return [];
  if ('details' in context && context.details !== undefined) return context.details;
  if ('problems' in context) return [];
  const place = placeOf(code, context);
  if (place === null) return [];
  const about = message.startsWith(place) ? message.slice(place.length).replace(/^:? /, '') : message;
  const recipient = 'recipient' in context ? context.recipient : undefined;
  return [{ code, place, message: about, ...(recipient !== undefined && { recipient }) }];
}

function placeOf(code: ErrorCode, context: object): string | null {
  if ('place' in context && typeof context.place === 'string') return context.place;
  if (!('pipeline' in context)) return null;
  return `pipelines[${context.pipeline}]${code === 'ERR_FLYWHEEL_ACTIONS_EMPTY' ? '.actions' : ''}`;
}
