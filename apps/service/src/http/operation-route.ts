import { ApiError, type BatchEvent, type ErrorCode, type EventStream } from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { tracedRequest } from '../telemetry/tracing.ts';
import { API_KEY_HEADER, type AuthenticateDeps, authenticate } from './authenticate.ts';
import { authenticateSession, type FindOpenSession, requireOwnOrigin } from './console/session.ts';
import { sendEvents } from './events/send-events.ts';
import type { BoundOperation, RequestContext } from './handlers.ts';
import { limitRate, type RateLimits } from './rate-limit.ts';
import { parseInput } from './wire/parse-input.ts';

export interface OperationRouteDeps extends AuthenticateDeps {
  readonly findOpenSession: FindOpenSession;
  /** The wallets that act for the company. */
  readonly companyOperators: ReadonlySet<Address>;
  readonly rateLimits: RateLimits;
}

/** What is known of a request while it is answered. */
export interface Exchange {
  readonly context: RequestContext;
  /** For the log: the API key, the wallet or nothing. */
  caller: { readonly keyId: string; readonly projectId: string } | { readonly wallet: string } | null;
  /** What a failure was answered with. */
  errorCode: ErrorCode | null;
}

const NO_CONTENT = 204;

/**
 * A row as a route: authenticate, limit the rate, and only then read the body; parse; handle; answer. Each step may
 * refuse by throwing an ApiError.
 */
export function operationRoute(
  deps: OperationRouteDeps,
  bound: BoundOperation,
  exchangeOf: (request: FastifyRequest) => Exchange,
): RouteOptions {
  const { operation, checksBody } = bound;
  const contexts = new WeakMap<FastifyRequest, RequestContext>();
  return {
    method: operation.method,
    url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    onRequest: async (request, reply) => {
      const exchange = exchangeOf(request);
      contexts.set(request, await admit(deps, bound, exchange, request, reply));
    },
    handler: async (request, reply) => {
      const context = contexts.get(request);
      if (!context) throw new Error(`${bound.operationId} was reached without being admitted.`);
      const { headers, params, query, body } = request;
      const attributes = { 'http.request.method': operation.method, 'http.route': operation.path };
      const answer = await tracedRequest(`${operation.method} ${operation.path}`, attributes, headers, async () =>
        bound.handle(context, parseInput(operation, { headers, params, query, body }, { checksBody })),
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
        // Serialized here: null is an answer, and the framework would send it as no body at all.
        .send(JSON.stringify(answer.body));
      return reply;
    },
  };
}

/** Everything that is checked before the body is read; yields the context that the row's handler takes. */
async function admit(
  deps: OperationRouteDeps,
  { operation }: BoundOperation,
  exchange: Exchange,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<RequestContext> {
  const limit = (key: string) =>
    limitRate(deps.rateLimits, operation.rateLimit, key, (name, value) => reply.header(name, value));
  const { context } = exchange;
  switch (operation.authentication) {
    case 'apiKey': {
      const holder = await authenticate(deps, single(request.headers[API_KEY_HEADER]));
      exchange.caller = { keyId: holder.keyId, projectId: holder.project.id };
      await limit(holder.keyId);
      return { ...context, ...holder };
    }
    case 'session':
    case 'company': {
      const holder = await authenticateSession(deps.findOpenSession, request.headers.cookie);
      const { wallet } = holder;
      exchange.caller = { wallet };
      await limit(wallet);
      if (operation.authentication === 'company' && !deps.companyOperators.has(wallet)) {
        throw new ApiError('ERR_COMPANY_ONLY', { wallet });
      }
      if (operation.method !== 'GET') requireOwnOrigin(request.headers, context.origin);
      return { ...context, ...holder };
    }
    case 'none':
      await limit(request.ip);
      if (operation.method !== 'GET') requireOwnOrigin(request.headers, context.origin);
      return context;
    default:
      throw new Error(`No way to authenticate by ${operation.authentication satisfies never}.`);
  }
}

function single(header: string | readonly string[] | undefined): string | undefined {
  if (header === undefined || typeof header === 'string') return header;
  throw new ApiError('ERR_UNAUTHORIZED', { problem: `Send one ${API_KEY_HEADER}, not ${header.length}.` });
}
