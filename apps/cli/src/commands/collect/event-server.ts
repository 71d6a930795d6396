import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { messageOf } from '@flywheel/protocol';
import { isFlywheelError } from '@flywheel/sdk';
import { COLLECT_ERROR_STATUS, type ItemStatus } from '@flywheel/sdk/collector';
import { CliError } from '../../errors.ts';

export interface EventHandlers {
  /** The bearer token that a request must have. */
  readonly token: string;
  /** Accepts the JSON text of an event, as bytes; it is durable when this returns. */
  readonly accept: (body: Uint8Array, signal: AbortSignal) => Promise<ItemStatus>;
  readonly status: (id: string) => Promise<ItemStatus | null>;
}

export interface EventServer extends AsyncDisposable {
  readonly port: number;
  /** Begins to answer; requests that came before have waited for it. */
  serve(handlers: EventHandlers): void;
  /** Resolves when no request is answered any more. It ends requests that do not become whole. */
  close(): Promise<void>;
}

/** An answer other than success. */
export class AnswerError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'AnswerError';
    this.status = status;
    this.code = code;
  }
}

const LOOPBACK = '127.0.0.1';

/**
 * Time that callers have to read their answers. A request that never becomes whole would hold up the end, and anything on this
 * machine can send one without the token.
 */
const CLOSE_WITHIN_MS = 2_000;

/**
 * Serves `POST /events` and `GET /events/ID` on this machine only. A browser must not be able to pay: a request with an
 * `Origin` is rejected whatever it is, so is one for another host, as a page that has made its own name point here would
 * send, and one without the bearer token.
 * @param port 0 takes a free port.
 * @throws CliError `ERR_USAGE` if the port is taken.
 */
export async function openEventServer(port: number): Promise<EventServer> {
  const { promise: handlers, resolve: serve } = Promise.withResolvers<EventHandlers>();
  const server = createServer((request, response) => {
    handlers.then((given) => answer(request, response, given)).catch((error) => fail(response, error));
  });
  server.listen(port, LOOPBACK);
  try {
    await once(server, 'listening');
  } catch (cause) {
    const reason = messageOf(cause);
    throw new CliError('ERR_USAGE', `Port ${port} cannot be used: ${reason}. Pass another one as --listen.`, { cause });
  }
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('The server has no port.');
  let closing: Promise<void> | null = null;
  const close = () => (closing ??= closeServer(server));
  return { port: bound.port, serve, close, [Symbol.asyncDispose]: close };
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_WITHIN_MS);
  await closed;
  clearTimeout(timer);
}

async function answer(request: IncomingMessage, response: ServerResponse, handlers: EventHandlers): Promise<void> {
  requireLocalCaller(request);
  requireToken(request, handlers.token);
  const [pathname = ''] = (request.url ?? '').split('?');
  const id = /^\/events\/(.+)$/.exec(pathname)?.[1];
  if (request.method === 'GET' && id !== undefined) {
    const status = await handlers.status(decodeId(id));
    if (status === null) throw new AnswerError(404, 'ERR_EVENT_NOT_FOUND', 'No event with this id was accepted.');
    send(response, 200, eventDocument(status));
    return;
  }
  if (pathname !== '/events') throw new AnswerError(404, 'ERR_NOT_FOUND', 'Use POST /events or GET /events/ID.');
  if (request.method !== 'POST') throw new AnswerError(405, 'ERR_METHOD', 'Use POST /events or GET /events/ID.');
  const [contentType = ''] = (request.headers['content-type'] ?? '').split(';');
  if (contentType.trim().toLowerCase() !== 'application/json') {
    throw new AnswerError(415, 'ERR_CONTENT_TYPE', 'The content type must be application/json.');
  }
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const status = await handlers.accept(await readBody(request), gone.signal);
  send(response, 202, eventDocument(status));
}

/** Describes an event as the command does, on stdout and to HTTP clients. */
export function eventDocument({ id, state, batchId, position, mergedPayload, reason }: ItemStatus) {
  return { id, state, batchId, position, ...(mergedPayload !== null && { mergedPayload }), reason };
}

/** A client that calls port 80 leaves it out of the host (RFC 9110, section 4.2.3). */
const HTTP_PORT = 80;

/** Lists the hosts that name a port of this machine. */
export function hostsOf(port: number): readonly string[] {
  const names = [LOOPBACK, 'localhost'];
  return [...(port === HTTP_PORT ? names : []), ...names.map((name) => `${name}:${port}`)];
}

function requireLocalCaller({ headers, socket }: IncomingMessage): void {
  const hosts = socket.localPort === undefined ? [] : hostsOf(socket.localPort);
  if (!hosts.includes(headers.host?.toLowerCase() ?? '')) {
    throw new AnswerError(403, 'ERR_HOST', `The host must be ${hosts.join(' or ')}.`);
  }
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) {
    throw new AnswerError(403, 'ERR_ORIGIN', 'Pages of a browser cannot send events.');
  }
}

function requireToken({ headers }: IncomingMessage, token: string): void {
  const given = /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  // Hashes have equal lengths, which the comparison needs.
  const hash = (text: string) => createHash('sha256').update(text).digest();
  if (timingSafeEqual(hash(given), hash(token))) return;
  throw new AnswerError(401, 'ERR_UNAUTHORIZED', 'The bearer token is missing or wrong. It changes at each start.');
}

function decodeId(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new AnswerError(400, 'ERR_INVALID_REQUEST', 'The id in the path is not percent-encoded UTF-8.');
  }
}

/** Room for the largest payload, 64 KiB, with every character escaped. */
const MAX_BODY_BYTES = 512 * 1024;

async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES)
      throw new AnswerError(413, 'ERR_TOO_LARGE', `The body may have ${MAX_BODY_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function fail(response: ServerResponse, error: unknown): void {
  if (response.destroyed || response.headersSent) return;
  if (error instanceof AnswerError) {
    const { status, code, message } = error;
    send(response, status, { error: code, message });
  } else if (isFlywheelError(error)) {
    const { code, message, problems } = error;
    send(response, COLLECT_ERROR_STATUS[code] ?? 500, {
      error: code,
      message,
      ...(problems.length > 0 && { problems }),
    });
  } else {
    const message = `The event may not be stored: ${messageOf(error)}. Send it again.`;
    send(response, 500, { error: 'ERR_INTERNAL', message });
  }
}

/** A minute is the step in which the hourly caps free what was counted. */
const RETRY_AFTER_SECONDS = 60;

function send(response: ServerResponse, status: number, document: object): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    // The rest of a body that was not read is not read either.
    ...(status >= 400 && { connection: 'close' }),
    ...(status === 429 && { 'retry-after': String(RETRY_AFTER_SECONDS) }),
  });
  response.end(JSON.stringify(document));
}
