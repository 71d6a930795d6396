import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { METHODS } from 'node:http';
import type { Readable } from 'node:stream';
import { API_KEY_SCHEME, ApiError, CONSOLE_OPERATIONS, MAX_BODY_BYTES, OPERATIONS } from '@flywheel/api';
import { truncate } from '@flywheel/protocol';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify, type RouteOptions } from 'fastify';
import type { Logger } from 'pino';
import type { Metrics } from '../telemetry/metrics.ts';
import { referenceRoutes } from './docs/reference.ts';
import { documentRoutes } from './docs/routes.ts';
import { type EmbedDeps, embedRoutes } from './embed/routes.ts';
import { healthRoutes, type ReadinessCheck } from './monitor.ts';
import { countedAddress } from './operations/address-limits.ts';
import { bindHandlers, type Handlers } from './operations/handlers.ts';
import { type Exchange, type OperationRouteDeps, operationRoute } from './operations/operation-route.ts';
import { type MissingPage, missingPage, type SiteDeps, siteRoutes } from './site.ts';
import { hangUpOnClose } from './wire/connections.ts';
import {
  type AnsweredErrors,
  answerClientError,
  answerError,
  type IsUnavailable,
  MAX_HEADER_BYTES,
  SECURITY_HEADERS,
  unsupportedType,
} from './wire/errors.ts';
import { readJson } from './wire/read-json.ts';
import { createRequestLog } from './wire/request-log.ts';

export interface ServerDeps extends OperationRouteDeps, SiteDeps, EmbedDeps {
  readonly handlers: Handlers<typeof OPERATIONS>;
  readonly consoleHandlers: Handlers<typeof CONSOLE_OPERATIONS>;
  /** Checks by name that must pass before this process takes requests. */
  readonly readiness: Readonly<Record<string, ReadinessCheck>>;
  /** Returns true if an error means that the database is out of reach. */
  readonly isUnavailable: IsUnavailable;
  /** Returns true if an error means that no node of the cluster can answer. */
  readonly isNodeUnavailable: IsUnavailable;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'requestSeconds' | 'httpErrors'>;
  /** The service's public URL; null: the host that a request names. */
  readonly publicUrl: string | null;
  /** Proxies with trusted X-Forwarded-* headers: none by default, because anyone can send these headers. */
  readonly trustedProxies?: readonly string[];
}

/** Longer than the 60 s of load balancers: if this side closed an idle connection first, requests would be lost. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/** Time for a request to arrive, from its first byte to its last: 2 MiB at 70 kB/s. It does not include the answer. */
const REQUEST_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
/** How often Node checks connections for the two timeouts above. */
const CONNECTIONS_CHECK_INTERVAL_MS = 5_000;

/**
 * Creates the HTTP server, not yet listening: `await server.listen({ host, port })`. `server.close()` stops accepting
 * connections, makes waiting handlers answer what they have, finishes the requests in flight and closes idle connections.
 */
export function createServer(deps: ServerDeps): FastifyInstance {
  const log = createRequestLog(deps.log);
  const closing = new AbortController();
  // Each request that waits for an execution adds a listener; Node would warn of a leak above ten.
  setMaxListeners(0, closing.signal);
  const publicOrigin = deps.publicUrl === null ? null : new URL(deps.publicUrl).origin;
  const beginExchange = (request: FastifyRequest): Exchange => ({
    context: {
      requestId: request.id,
      log: log.child({ requestId: request.id }),
      address: countedAddress(request.ip),
      origin: publicOrigin ?? `${request.protocol}://${request.host}`,
      closing: closing.signal,
    },
    caller: null,
    admitted: null,
    leaving: null,
    errorCode: null,
  });
  const answer = (answered: AnsweredErrors) => (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const { exchange } = request;
    const { log } = exchange.context;
    exchange.errorCode = answerError({ ...deps, ...answered, log }, error, request, reply);
  };
  const answerUnexpected = answer({ fallback: 'ERR_INTERNAL', errors: [] });

  const server = fastify({
    logger: false,
    genReqId: ({ headers }) => acceptedRequestId(headers['x-request-id']) ?? randomUUID(),
    bodyLimit: MAX_BODY_BYTES,
    // The size of the headers bounds parameters already; the operation's schema then refuses a long id.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
    trustProxy: deps.trustedProxies && deps.trustedProxies.length > 0 ? [...deps.trustedProxies] : false,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // While closing, requests on busy connections are still answered, and then the connection is closed.
    return503OnClosing: false,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_INTERVAL_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // A missing Host header is answered below, in JSON.
      requireHostHeader: false,
    },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      // These requests skip the hooks.
      request.exchange = beginExchange(request);
      setUniversalHeaders(request, reply);
      answerUnexpected(error, request, reply);
      logAnswer(deps, request, reply);
    },
  });

  // RFC 9110, 10.1.1: an expectation other than 100-continue may be ignored; Node would answer 417 without a body.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
  hangUpOnClose(server);
  readBodiesAsJson(server);
  server.decorateRequest('exchange');
  server.setErrorHandler(answerUnexpected);
  const missing = missingPage({ ...deps, log });
  server.setNotFoundHandler(missing.handler);
  server.addHook('onRequest', (request, reply, done) => {
    request.exchange = beginExchange(request);
    setUniversalHeaders(request, reply);
    done(findRequestError(request, missing));
  });
  server.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing.signal.aborted) reply.header('connection', 'close');
    done();
  });
  server.addHook('onResponse', (request, reply, done) => {
    logAnswer(deps, request, reply);
    done();
  });
  server.addHook('preClose', (done) => {
    closing.abort(new Error('The server is closing.'));
    done();
  });

  const originOf = (request: FastifyRequest) => request.exchange.context.origin;
  addRoutes(server, [
    ...[...bindHandlers(OPERATIONS, deps.handlers), ...bindHandlers(CONSOLE_OPERATIONS, deps.consoleHandlers)].map(
      (bound) => ({ ...operationRoute(deps, bound), errorHandler: answer({ ...bound.operation, ...bound }) }),
    ),
    ...documentRoutes(originOf, missing),
    ...referenceRoutes(originOf),
    ...healthRoutes(deps.readiness, log),
    ...siteRoutes({ ...deps, log }, originOf),
    ...embedRoutes(deps),
  ]);
  return server;
}

/** The request ids accepted from clients: UUIDs and trace ids match, but arbitrary text cannot get into the log. */
const REQUEST_ID = /^[A-Za-z0-9._:=@-]{1,64}$/;

function acceptedRequestId(header: string | readonly string[] | undefined): string | null {
  return typeof header === 'string' && REQUEST_ID.test(header) && !header.startsWith(API_KEY_SCHEME) ? header : null;
}

function readBodiesAsJson(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      const { 'content-encoding': encoding = '' } = request.headers;
      if (!['', 'identity'].includes(encoding.toLowerCase())) {
        throw new ApiError('ERR_UNSUPPORTED_MEDIA_TYPE', { encoding: encoding.slice(0, 100) });
      }
      return readJson(bytes);
    },
  );
  server.addContentTypeParser('*', (request: FastifyRequest, payload: Readable) => requireNoBytes(request, payload));
}

/**
 * A body without bytes is none, whatever its type and length: `curl -d ''` sends the type of a form, a proxy may send
 * it in chunks.
 */
function requireNoBytes(request: FastifyRequest, payload: Readable): Promise<void> {
  return new Promise((resolve, reject) => {
    payload.once('data', () => reject(unsupportedType(request.headers['content-type'])));
    payload.once('end', resolve);
    payload.once('error', reject);
  });
}

function setUniversalHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(SECURITY_HEADERS).header('x-request-id', request.id);
}

/** Finds errors that need no body, so that an unknown route answers 404 whatever is sent to it. */
function findRequestError(request: FastifyRequest, missing: MissingPage): ApiError | undefined {
  const problem = findHostProblem(request);
  if (problem !== null) return new ApiError('ERR_INVALID_REQUEST', { place: 'headers.host', problem });
  // The router takes the target `*` of `OPTIONS *` as the path `/`.
  if (request.url === '*' || (request.is404 && !missing.isAsked(request))) {
    return new ApiError('ERR_ROUTE_NOT_FOUND', { method: request.method, path: pathOf(request) });
  }
  return undefined;
}

/** A request has one valid Host (RFC 9112, 3.2). Node takes the first of several; a proxy in front may have taken another one. */
function findHostProblem(request: FastifyRequest): string | null {
  const timesSent = request.raw.headersDistinct.host?.length ?? 0;
  if (timesSent > 1) return `was sent ${timesSent} times; send it once.`;
  if (URL.canParse(`http://${request.host}`) || isProbeWithoutHost(request)) return null;
  return timesSent === 0 ? 'is missing.' : 'names no host.';
}

/** HTTP/1.0 requires no Host, and the default probes of load balancers send none. The health routes use no host; others may. */
function isProbeWithoutHost({ headers, raw, routeOptions }: FastifyRequest): boolean {
  return headers.host === undefined && raw.httpVersion === '1.0' && (routeOptions.url ?? '').startsWith('/health/');
}

/** The path as an error message repeats it: bounded, and without the query, which may hold a secret by mistake. */
function pathOf(request: FastifyRequest): string {
  const [path = ''] = request.url.split(/[?#]/, 1);
  return truncate(path, 200);
}

/** Logs and counts an answer by its route's pattern, because a path or a query may hold a secret. */
function logAnswer({ metrics }: Pick<ServerDeps, 'metrics'>, request: FastifyRequest, reply: FastifyReply): void {
  const { context, caller, errorCode } = request.exchange;
  const route =
    request.is404 || request.routeOptions.url === undefined ? null : `${request.method} ${request.routeOptions.url}`;
  const status = reply.statusCode;
  const labels = { route: route ?? 'none', status };
  metrics.requestSeconds.observe(labels, reply.elapsedTime / 1_000);
  if (errorCode !== null) metrics.httpErrors.inc({ ...labels, code: errorCode });
  context.log.info({ route, status, ms: Math.round(reply.elapsedTime * 10) / 10, errorCode, ...caller }, 'answered');
}

/** Adds routes, and answers 405 with the allowed methods for every other method of their paths. */
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
        throw new Error('The hook above answers this request.');
      },
    });
  }
}
