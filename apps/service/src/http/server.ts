import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { METHODS } from 'node:http';
import { ApiError, CONSOLE_OPERATIONS, OPERATIONS } from '@flywheel/api';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify, type RouteOptions } from 'fastify';
import type { Logger } from 'pino';
import type { Metrics } from '../telemetry/metrics.ts';
import { registerReference } from './docs/reference.ts';
import { documentRoutes } from './docs/routes.ts';
import { bindHandlers, type ContextFreeCode, type Handlers } from './handlers.ts';
import { healthRoutes, type ReadinessCheck } from './health.ts';
import { type Exchange, type OperationRouteDeps, operationRoute } from './operation-route.ts';
import { type SiteDeps, siteRoutes } from './static/routes.ts';
import { answerError, MAX_BODY_BYTES } from './wire/answer-error.ts';
import { answerClientError, MAX_HEADER_BYTES } from './wire/client-error.ts';
import { hangUpOnClose } from './wire/hang-up-on-close.ts';
import { readJson } from './wire/read-json.ts';
import { createRequestLog } from './wire/request-log.ts';
import { SECURITY_HEADERS } from './wire/security-headers.ts';

export interface ServerDeps extends OperationRouteDeps, SiteDeps {
  readonly handlers: Handlers<typeof OPERATIONS>;
  readonly consoleHandlers: Handlers<typeof CONSOLE_OPERATIONS>;
  /** By name: what must work for this process to take requests. */
  readonly readiness: Readonly<Record<string, ReadinessCheck>>;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'requestSeconds'>;
  /** Where people reach the service; null: whatever host a request names. */
  readonly publicUrl: string | null;
  /** Whose X-Forwarded-* headers are believed: none by default, since anyone can send them. */
  readonly trustedProxies?: readonly string[];
}

/** Load balancers keep idle connections for 60 s; the side that closes first must be theirs, or requests get lost. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/** From the first byte to the last of a request: 2 MiB at 70 kB/s. Waiting for the answer is not in it. */
const REQUEST_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
/** How often Node looks for connections that are over the two above. */
const CONNECTIONS_CHECK_INTERVAL_MS = 5_000;

/**
 * The HTTP server, not yet listening: `await server.listen({ host, port })`. `server.close()` stops accepting, tells
 * waiting handlers to answer what they have, lets every request in flight finish and closes idle connections.
 */
export function createServer(deps: ServerDeps): FastifyInstance {
  const log = createRequestLog(deps.log);
  const closing = new AbortController();
  // One listener for each request that waits for an execution; the default of ten would warn of a leak.
  setMaxListeners(0, closing.signal);
  const exchanges = createExchanges(log, closing.signal, deps.publicUrl);
  const answer = (fallback: ContextFreeCode) => (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const exchange = exchanges.of(request);
    exchange.errorCode = answerError({ log: exchange.context.log, fallback }, error, request, reply);
  };
  const answerUnforeseen = answer('ERR_INTERNAL');

  const server = fastify({
    logger: false,
    genReqId: ({ headers }) => acceptedRequestId(headers['x-request-id']) ?? randomUUID(),
    bodyLimit: MAX_BODY_BYTES,
    // Bounded by the size of the headers already; a long id is refused by its schema, in our words.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
    trustProxy: deps.trustedProxies && deps.trustedProxies.length > 0 ? [...deps.trustedProxies] : false,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // What still arrives on a busy connection while closing is answered as well, and the connection closed.
    return503OnClosing: false,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_INTERVAL_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Refused by us, in JSON.
      requireHostHeader: false,
    },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      setUniversalHeaders(request, reply);
      answerUnforeseen(error, request, reply);
      logAnswer(deps, exchanges.of(request), request, reply);
    },
  });

  // RFC 9110, 10.1.1: an expectation other than 100-continue may be ignored; Node would answer 417 without a body.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
  hangUpOnClose(server);
  readBodiesAsJson(server);
  server.setErrorHandler(answerUnforeseen);
  server.addHook('onRequest', (request, reply, done) => {
    setUniversalHeaders(request, reply);
    done(refusalBeforeRoute(request));
  });
  server.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing.signal.aborted) reply.header('connection', 'close');
    done();
  });
  server.addHook('onResponse', (request, reply, done) => {
    logAnswer(deps, exchanges.of(request), request, reply);
    done();
  });
  server.addHook('preClose', (done) => {
    closing.abort(new Error('The server is closing.'));
    done();
  });

  const originOf = (request: FastifyRequest) => exchanges.of(request).context.origin;
  registerReference(server, originOf);
  addRoutes(server, [
    ...[...bindHandlers(OPERATIONS, deps.handlers), ...bindHandlers(CONSOLE_OPERATIONS, deps.consoleHandlers)].map(
      (bound) => ({ ...operationRoute(deps, bound, exchanges.of), errorHandler: answer(bound.fallback) }),
    ),
    ...documentRoutes(originOf),
    ...healthRoutes(deps.readiness, log),
    ...siteRoutes({ ...deps, log }),
  ]);
  return server;
}

interface Exchanges {
  of(request: FastifyRequest): Exchange;
}

function createExchanges(log: Logger, closing: AbortSignal, publicUrl: string | null): Exchanges {
  const exchanges = new WeakMap<FastifyRequest, Exchange>();
  const publicOrigin = publicUrl === null ? null : new URL(publicUrl).origin;
  return {
    of(request) {
      const known = exchanges.get(request);
      if (known) return known;
      const requestId = request.id;
      const origin = publicOrigin ?? `${request.protocol}://${request.host}`;
      const exchange: Exchange = {
        context: { requestId, log: log.child({ requestId }), origin, closing },
        caller: null,
        errorCode: null,
      };
      exchanges.set(request, exchange);
      return exchange;
    },
  };
}

/** What a client may call its request: enough for UUIDs and trace ids, too little to write into a log with. */
const REQUEST_ID = /^[A-Za-z0-9._:=@-]{1,64}$/;

function acceptedRequestId(header: string | readonly string[] | undefined): string | null {
  return typeof header === 'string' && REQUEST_ID.test(header) && !header.startsWith('fwk_') ? header : null;
}

function readBodiesAsJson(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      const encoding = request.headers['content-encoding'];
      if (encoding !== undefined && encoding !== 'identity') {
        throw new ApiError('ERR_UNSUPPORTED_MEDIA_TYPE', { given: `Content-Encoding ${encoding.slice(0, 100)}` });
      }
      return readJson(bytes);
    },
  );
}

function setUniversalHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(SECURITY_HEADERS).header('x-request-id', request.id);
}

/** Thrown before a body is read: an unknown route is unknown whatever is sent to it. */
function refusalBeforeRoute(request: FastifyRequest): ApiError | undefined {
  if (!URL.canParse(`http://${request.host}`)) {
    const problem = request.headers.host === undefined ? 'is missing.' : 'names no host.';
    return new ApiError('ERR_INVALID_REQUEST', { place: 'headers.host', problem });
  }
  if (request.is404) return new ApiError('ERR_ROUTE_NOT_FOUND', { method: request.method, path: pathOf(request) });
  return undefined;
}

/** What a refusal repeats of a path is bounded, and without the query, where secrets end up by mistake. */
function pathOf(request: FastifyRequest): string {
  const [path = ''] = request.url.split(/[?#]/, 1);
  return path.length <= 200 ? path : `${path.slice(0, 199)}…`;
}

/** Routes are logged by their pattern: what stands in a path or a query may be a secret. */
function logAnswer(
  { metrics }: Pick<ServerDeps, 'metrics'>,
  { context, caller, errorCode }: Exchange,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const route =
    request.is404 || request.routeOptions.url === undefined ? null : `${request.method} ${request.routeOptions.url}`;
  metrics.requestSeconds.observe({ route: route ?? 'none', status: reply.statusCode }, reply.elapsedTime / 1_000);
  context.log.info(
    { route, status: reply.statusCode, ms: Math.round(reply.elapsedTime * 10) / 10, errorCode, ...caller },
    'answered',
  );
}

/** Adds routes, and for every other method of their paths the answer that says which they take. */
function addRoutes(server: FastifyInstance, routes: readonly RouteOptions[]): void {
  const known = new Set(server.supportedMethods);
  const others = METHODS.filter((method) => method !== 'CONNECT' && !known.has(method));
  for (const method of others) server.addHttpMethod(method);
  for (const route of routes) server.route(route);
  for (const [url, ofPath] of Map.groupBy(routes, (route) => route.url)) {
    const methods = ofPath.flatMap(({ method }) => method);
    const allowed = new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods);
    server.route({
      method: server.supportedMethods.filter((method) => !allowed.has(method)),
      url,
      onRequest: (request, _reply, done) => {
        const allow = [...allowed].join(', ');
        done(new ApiError('ERR_METHOD_NOT_ALLOWED', { method: request.method, path: pathOf(request), allow }));
      },
      handler: () => {
        throw new Error('Refused before.');
      },
    });
  }
}
