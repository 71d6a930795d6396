import {
  API_KEY_HEADER,
  ApiError,
  type BatchEvent,
  type ErrorCode,
  type EventStream,
  MAX_BODY_BYTES,
  type Operation,
  type RateLimitName,
} from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { projectMoving } from '../../model/project.ts';
import type { RateLimitState, RateLimits } from '../../model/rate-limit.ts';
import { tracedRequest } from '../../telemetry/tracing.ts';
import { rateLimited } from '../wire/errors.ts';
import { parseInput } from '../wire/parse-input.ts';
import type { AddressLimits } from './address-limits.ts';
import { type AuthenticateDeps, authenticateKey, authenticateSession, requireOwnOrigin } from './authentication.ts';
import { sendEvents } from './events.ts';
import type { BoundOperation, RequestContext } from './handlers.ts';

export interface OperationRouteDeps extends AuthenticateDeps {
  /** The wallets that act for the company. */
  readonly companyOperators: ReadonlySet<Address>;
  readonly rateLimits: RateLimits;
  readonly addressLimits: AddressLimits;
}

/** The state of one request, from its first hook to its log line. Each request carries its own: see `createServer`. */
export interface Exchange {
  readonly context: RequestContext;
  /** For the log: the API key, the wallet, or null. */
  caller: { readonly keyId: string; readonly projectId: string } | { readonly wallet: string } | null;
  /** The context with the authenticated caller; null until the request was admitted. */
  admitted: RequestContext | null;
  /** The API key's project while it is about to move to another shard; null otherwise. */
  leaving: string | null;
  /** The error code that was answered; null for a success. */
  errorCode: ErrorCode | null;
}

declare module 'fastify' {
  interface FastifyRequest {
    exchange: Exchange;
  }
}

const NO_CONTENT = 204;

/**
 * Turns an operation into a route: authenticate and limit the rate before the body is read; then parse, handle, answer.
 * Each step may end the request by throwing an ApiError.
 */
export function operationRoute(deps: OperationRouteDeps, bound: BoundOperation): RouteOptions {
  const { operation, checksBody } = bound;
  return {
    method: operation.method,
    url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    bodyLimit: operation.maxBodyBytes ?? MAX_BODY_BYTES,
    onRequest: async (request, reply) => {
      request.exchange.admitted = await admit(deps, bound, request, reply);
    },
    handler: async (request, reply) => {
      const context = request.exchange.admitted;
      if (!context) throw new Error(`${bound.operationId} was reached without being admitted.`);
      const { headers, params, query, body } = request;
      const timesSent = (header: string) => request.raw.headersDistinct[header]?.length ?? 0;
      const attributes = { 'http.request.method': operation.method, 'http.route': operation.path };
      const answer = await unlessDeparted(deps, bound, request, () =>
        tracedRequest(`${operation.method} ${operation.path}`, attributes, headers, async () =>
          bound.handle(context, parseInput(operation, { headers, params, query, body, timesSent }, { checksBody })),
        ),
      );
      if (answer.status === NO_CONTENT) return reply.status(NO_CONTENT).send();
      if (operation.responses[answer.status]?.mediaType === 'text/event-stream') {
        // `Handlers` has proved that such a status is answered with a stream of events.
        return sendEvents(reply, answer.body as EventStream<BatchEvent>, context);
      }
      reply
        .status(answer.status)
        .headers({ 'cache-control': 'no-store', ...answer.headers })
        .header('content-type', 'application/json; charset=utf-8')
        // Serialize here: Fastify would send null as an empty body, but null is an answer.
        .send(JSON.stringify(answer.body));
      return reply;
    },
  };
}

/**
 * Withholds the answer of an API key during whose request its project has left this shard: what it has read may be nothing. An
 * error about a project that a path names is withheld likewise: the project may have left while the handler waited for its row.
 * @throws ApiError ERR_PROJECT_MOVING, also in the place of the handler's error.
 */
async function unlessDeparted<Answer>(
  { hasDeparted }: Pick<OperationRouteDeps, 'hasDeparted'>,
  { operation }: BoundOperation,
  { exchange: { leaving }, params }: FastifyRequest,
  handle: () => Promise<Answer>,
): Promise<Answer> {
  const [result] = await Promise.allSettled([handle()]);
  const projectId = leaving ?? (result.status === 'rejected' ? idIn(operation, params, 'projectId') : null);
  if (projectId !== null && (await hasDeparted({ projectId }))) throw projectMoving();
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}

/**
 * Checks everything that can be checked before the body is read, and limits by address before any query. Returns the
 * context that the handler takes.
 */
async function admit(
  deps: OperationRouteDeps,
  { operation }: BoundOperation,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<RequestContext> {
  const { exchange } = request;
  const { context } = exchange;
  deps.addressLimits.count('any', context.address);
  if (operation.rateLimit === 'heavy') deps.addressLimits.count('heavy', context.address);
  switch (operation.authentication) {
    case 'apiKey': {
      const { address } = context;
      const { rateLimit } = operation;
      const apiKey = single(request.raw.headersDistinct[API_KEY_HEADER]);
      // A batch that a GET names is read together with the key.
      const batchId = operation.method === 'GET' ? idIn(operation, request.params, 'batchId') : null;
      const { holder, limit, isMoving } = await authenticateKey(deps, apiKey, { address, rateLimit, batchId });
      exchange.caller = { keyId: holder.keyId, projectId: holder.project.id };
      exchange.leaving = isMoving ? holder.project.id : null;
      limitRate(deps, rateLimit, limit, reply);
      return { ...context, ...holder };
    }
    case 'session':
    case 'company': {
      const holder = await authenticateSession(deps, request.headers.cookie, context.origin, context.address);
      const { wallet } = holder;
      exchange.caller = { wallet };
      limitRate(deps, operation.rateLimit, await deps.rateLimits.consume(operation.rateLimit, wallet), reply);
      if (operation.authentication === 'company' && !deps.companyOperators.has(wallet)) {
        throw new ApiError('ERR_COMPANY_ONLY', { wallet });
      }
      if (operation.method !== 'GET') requireOwnOrigin(request.headers, context.origin);
      return { ...context, ...holder };
    }
    case 'none':
      limitRate(deps, operation.rateLimit, await deps.rateLimits.consume(operation.rateLimit, context.address), reply);
      if (operation.method !== 'GET') requireOwnOrigin(request.headers, context.origin);
      return context;
    default:
      throw new Error(`There is no authentication called ${operation.authentication satisfies never}.`);
  }
}

/** Returns the id that a path has under a name; null for none, or an invalid one. */
function idIn({ params: schema }: Operation, params: unknown, name: 'batchId' | 'projectId'): string | null {
  const id = Object(schema?.safeParse(params).data)[name];
  return typeof id === 'string' ? id : null;
}

/** Node would join the values of a header that was sent twice. */
function single(keys: readonly string[] = []): string | undefined {
  if (keys.length <= 1) return keys[0];
  const problem = `The header ${API_KEY_HEADER} was sent ${keys.length} times. Send it once.`;
  throw new ApiError('ERR_UNAUTHORIZED', { problem });
}

/**
 * Sets the rate limit headers of a counted request (IETF draft-ietf-httpapi-ratelimit-headers), also when it is refused.
 * @throws ApiError ERR_RATE_LIMITED once the limit is passed.
 */
function limitRate(
  { rateLimits }: Pick<OperationRouteDeps, 'rateLimits'>,
  name: RateLimitName,
  { allowed, remaining, resetSeconds }: RateLimitState,
  reply: FastifyReply,
): void {
  const { requests, seconds } = rateLimits.limits[name];
  reply.header('RateLimit-Policy', `"${name}";q=${requests};w=${seconds}`);
  reply.header('RateLimit', `"${name}";r=${remaining};t=${resetSeconds}`);
  if (!allowed) throw rateLimited({ requests, seconds }, resetSeconds);
}
