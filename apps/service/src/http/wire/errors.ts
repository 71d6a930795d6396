import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  API_KEY_HEADER,
  ApiError,
  type ErrorCode,
  type ErrorContext,
  errorBody,
  isApiError,
  MAX_BODY_BYTES,
} from '@flywheel/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';

/** Node's own bound on the request line and headers together; `maxHeaderSize` is set to it. */
export const MAX_HEADER_BYTES = 16_384;

/**
 * Headers of every response: it may not be framed, sniffed into another type, read by a window that opened it, or load
 * anything.
 */
export const SECURITY_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const;

/** A server restarts within seconds; a failover takes up to half a minute. */
export const UNAVAILABLE_RETRY_SECONDS = '5';
/** The request has waited for seconds by itself, and a node that is behind catches up within a few slots. */
const NODE_RETRY_SECONDS = 2;
/** Under load, open batches end within seconds, and a replacement that both sides have approved is executed then. */
const ROTATION_RETRY_SECONDS = '5';

/**
 * Builds the error of a request beyond a limit that is counted in windows.
 * @param resetSeconds time until the next window begins.
 */
export function rateLimited(
  { requests, seconds }: { readonly requests: number; readonly seconds: number },
  resetSeconds: number,
): ApiError<'ERR_RATE_LIMITED'> {
  // Retry-After: 0 would invite a request within the same window.
  return new ApiError('ERR_RATE_LIMITED', { requests, seconds, retryAfterSeconds: Math.max(1, resetSeconds) });
}

/** Builds the error of a body whose Content-Type is not JSON, is empty or is missing. */
export function unsupportedType(contentType: string | undefined): ApiError<'ERR_UNSUPPORTED_MEDIA_TYPE'> {
  return new ApiError('ERR_UNSUPPORTED_MEDIA_TYPE', { given: contentType?.slice(0, 100) || 'nothing' });
}

/** Returns true if an error means that something is out of reach, so that the same request may succeed later. */
export type IsUnavailable = (error: unknown) => boolean;

/** A code with a message that takes no context. */
export type ContextFreeCode = {
  [Code in ErrorCode]: ErrorContext<Code> extends undefined ? Code : never;
}[ErrorCode];

/** How an operation answers what it did not expect. */
export interface AnsweredErrors {
  readonly fallback: ContextFreeCode;
  /** With ERR_NODE_UNAVAILABLE among them, that is the answer while no node can answer: a repeated request has one effect. */
  readonly errors: readonly ErrorCode[];
}

interface AnswerDeps extends AnsweredErrors {
  readonly log: Logger;
  readonly isUnavailable: IsUnavailable;
  readonly isNodeUnavailable: IsUnavailable;
}

/**
 * Answers an error as `{error, message}`. An unexpected error is logged under the request's id and answered with
 * `fallback`, whose message reveals nothing about it; or with ERR_NODE_UNAVAILABLE, if the operation has that.
 * @returns the code that was answered.
 */
export function answerError(deps: AnswerDeps, error: unknown, request: FastifyRequest, reply: FastifyReply): ErrorCode {
  const { log, isUnavailable, isNodeUnavailable } = deps;
  const expected = isApiError(error) ? error : fromFramework(error, request);
  const answer = expected ?? fromFailure(deps, error);
  const isOurs = answer.status >= 500 && !OTHERS_DECISIONS.some((code) => isApiError(answer, code));
  if (isOurs) log.error({ err: answer }, 'request failed');
  else if (answer.cause !== undefined) log.info({ err: answer }, 'request refused');

  // RFC 9110, 15.5.2: a 401 names a challenge. Browsers act on neither of these schemes.
  if (answer.status === 401) {
    reply.header('www-authenticate', request.url.startsWith('/v1/') ? `ApiKey header="${API_KEY_HEADER}"` : 'Session');
  }
  // A request that has failed may have happened, so the status stays 500: clients repeat a 503 that says when, whatever it asks.
  if (isOurs && (isUnavailable(answer) || isNodeUnavailable(answer)))
    reply.header('retry-after', UNAVAILABLE_RETRY_SECONDS);
  // A cap that no time resets has null.
  if (typeof answer.context === 'object' && 'retryAfterSeconds' in answer.context) {
    const { retryAfterSeconds } = answer.context;
    if (retryAfterSeconds !== null) reply.header('retry-after', String(retryAfterSeconds));
  }
  if (isApiError(answer, 'ERR_ROTATION_OPEN')) reply.header('retry-after', ROTATION_RETRY_SECONDS);
  if (isApiError(answer, 'ERR_UNSUPPORTED_MEDIA_TYPE')) {
    // Fastify closes the connection; a client that still sends its body could then be reset before it reads the answer.
    reply.removeHeader('connection');
    // RFC 9110, 15.5.16: it tells an unsupported encoding from an unsupported type.
    if ('encoding' in answer.context) reply.header('accept-encoding', 'identity');
  }
  if (isApiError(answer, 'ERR_METHOD_NOT_ALLOWED')) reply.header('allow', answer.context.allow);
  reply
    .status(answer.status)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(errorBody(answer)));
  return answer.code;
}

function fromFailure({ fallback, errors, isNodeUnavailable }: AnswerDeps, cause: unknown): ApiError {
  if (!errors.includes('ERR_NODE_UNAVAILABLE') || !isNodeUnavailable(cause))
    return new ApiError(fallback, undefined, { cause });
  return new ApiError('ERR_NODE_UNAVAILABLE', { retryAfterSeconds: NODE_RETRY_SECONDS }, { cause });
}

/** A pause and a move are decisions of people, and a slow schema is its sender's: what they refuse is no error of ours. */
const OTHERS_DECISIONS = ['ERR_PAUSED', 'ERR_PROJECT_MOVING', 'ERR_SCHEMA_CHECK_UNAVAILABLE'] as const;

/** Translates Fastify's own errors about a request; null for an error that no caller caused. */
function fromFramework(error: unknown, request: FastifyRequest): ApiError | null {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ApiError('ERR_BODY_TOO_LARGE', { maxBytes: request.routeOptions.bodyLimit ?? MAX_BODY_BYTES });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return unsupportedType(request.headers['content-type']);
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

/** Answers what Node's parser rejects before there is a request, then closes the connection. */
export function answerClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const answer = invalid('request', clientErrorSentence(error.code));
  const status = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? '408 Request Timeout' : '400 Bad Request';
  const body = JSON.stringify(errorBody(answer));
  const headers = {
    ...SECURITY_HEADERS,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': randomUUID(),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`);
}

/** True once the headers of a response are out: a second response on top would be garbage. This is Node's own check. */
function isAnswering(socket: Socket & { readonly _httpMessage?: ServerResponse | null }): boolean {
  return socket._httpMessage?.headersSent === true;
}

/** The codes are Node's and llhttp's. */
function clientErrorSentence(code: string | undefined): string {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return `has a URL and headers of more than ${MAX_HEADER_BYTES} bytes together.`;
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'did not arrive in time.';
    case 'HPE_INVALID_METHOD':
      return 'does not begin with a known HTTP method in capitals.';
    case 'HPE_INVALID_HEADER_TOKEN':
      return 'has a header that is not valid.';
    case 'HPE_INVALID_CONTENT_LENGTH':
    case 'HPE_UNEXPECTED_CONTENT_LENGTH':
    case 'HPE_INVALID_TRANSFER_ENCODING':
      return 'has a Content-Length or a Transfer-Encoding that is not valid.';
    case 'HPE_INVALID_CHUNK_SIZE':
      return 'has a body with a chunk whose size is not valid.';
    default:
      return 'is not valid HTTP/1.1.';
  }
}

function invalid(place: string, problem: string): ApiError {
  return new ApiError('ERR_INVALID_REQUEST', { place, problem });
}
