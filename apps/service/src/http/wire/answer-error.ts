import { ApiError, type ErrorCode, isApiError } from '@flywheel/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { API_KEY_HEADER } from '../authenticate.ts';
import type { ContextFreeCode } from '../handlers.ts';

/** The interface sets no bound; this holds a thousand pipelines of two kilobytes. */
export const MAX_BODY_BYTES = 2 * 1024 * 1024;

/**
 * Answers a failure as `{error, message}`. What no one foresaw is logged under the request's id and answered with
 * `fallback`, whose sentence tells nothing of it.
 * @returns the code that was answered.
 */
export function answerError(
  { log, fallback }: { readonly log: Logger; readonly fallback: ContextFreeCode },
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): ErrorCode {
  const foreseen = isApiError(error) ? error : fromFramework(error, request);
  const answer = foreseen ?? new ApiError(fallback, undefined, { cause: error });
  // A pause is somebody’s decision: those whom it turns away are no failures of ours.
  const isFailure = answer.status >= 500 && !isApiError(answer, 'ERR_PAUSED');
  if (isFailure) log.error({ err: answer }, 'request failed');
  else if (answer.cause !== undefined) log.info({ err: answer }, 'request refused');

  // RFC 9110, 15.5.2: a 401 names a challenge. Neither of ours is a scheme that browsers act on.
  if (answer.status === 401) {
    reply.header('www-authenticate', request.url.startsWith('/v1/') ? `ApiKey header="${API_KEY_HEADER}"` : 'Session');
  }
  if (isApiError(answer, 'ERR_RATE_LIMITED') || isApiError(answer, 'ERR_NONCE_POOL_EMPTY')) {
    reply.header('retry-after', String(answer.context.retryAfterSeconds));
  }
  if (isApiError(answer, 'ERR_METHOD_NOT_ALLOWED')) reply.header('allow', answer.context.allow);
  reply.status(answer.status).header('content-type', 'application/json; charset=utf-8').send(errorBody(answer));
  return answer.code;
}

/** The JSON text of a failure. */
export function errorBody({ code, message }: Pick<ApiError, 'code' | 'message'>): string {
  return JSON.stringify({ error: code, message });
}

/** What the framework refuses by itself, in our words; null when it is nothing a caller did. */
function fromFramework(error: unknown, request: FastifyRequest): ApiError | null {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ApiError('ERR_BODY_TOO_LARGE', { maxBytes: MAX_BODY_BYTES });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ApiError('ERR_UNSUPPORTED_MEDIA_TYPE', {
        given: request.headers['content-type']?.slice(0, 100) ?? 'nothing',
      });
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return invalid('body', 'is not as long as Content-Length says.');
    case 'FST_ERR_BAD_URL':
      return invalid('path', 'is not percent-encoded UTF-8.');
    case 'ECONNRESET':
      return request.raw.complete ? null : invalid('body', 'broke off.');
    default:
      return null;
  }
}

function invalid(place: string, problem: string): ApiError {
  return new ApiError('ERR_INVALID_REQUEST', { place, problem });
}
