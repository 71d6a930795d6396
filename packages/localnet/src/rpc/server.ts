import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isJsonObject } from '@flywheel/protocol';
import { PARSE_ERROR, parseJson } from '@flywheel/solana-rpc';
import type { Faults } from '../faults.ts';
import { stringifyJson } from '../json.ts';
import { answerCalls, errorResponse, type Methods } from './answer-call.ts';
import { CallError } from './call-error.ts';

/** Maximum body size of a validator (rpc, MAX_REQUEST_BODY_SIZE). */
const MAX_BODY_BYTES = 50 * 1024;
const ANY_ORIGIN = { 'access-control-allow-origin': '*' };
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
const TEXT_TYPE = { 'content-type': 'text/plain; charset=utf-8' };
const ACCEPTED_TYPES = /^application\/json(; ?charset=utf-8)?$/i;

export interface Routes {
  /** Finds the route of a path; null if no JSON-RPC is served there. */
  readonly rpc: (path: string) => RpcRoute | null;
  /** Plain GET routes by path. */
  readonly rest: ReadonlyMap<string, () => unknown>;
  readonly faults: Faults;
  /** Awaited before each response, so that a response never contains what is not stored. */
  readonly settled: () => Promise<void>;
  /** Called with exceptions other than CallError, which are bugs of the cluster. */
  readonly onError: (error: unknown) => void;
}

/** One endpoint for JSON-RPC. */
export interface RpcRoute {
  /** Name by which faults are limited to this endpoint. */
  readonly node: string;
  /** Chooses the methods from the names of the called ones. */
  readonly choose: (called: readonly string[]) => Methods;
  /** Returns true if this number of calls may be answered now; all may by default. */
  readonly admit?: (calls: number) => boolean;
}

/** Creates an HTTP server for JSON-RPC 2.0 that behaves like a Solana validator: it allows any origin, and batches. */
export function createRpcServer(routes: Routes): Server {
  const server = createServer({ shouldUpgradeCallback: asksForWebsocket }, (request, response) => {
    answer(routes, request, response).catch((error: unknown) => {
      routes.onError(error);
      response.destroy();
    });
  });
  // A client may break its connection at any time; without a listener that would end the process.
  server.on('clientError', (_error, socket) => socket.destroy());
  return server;
}

/**
 * Returns true if a request asks to continue as a WebSocket. Other offers are ignored, as HTTP allows: Java's client sends
 * `Upgrade: h2c` with each request by default.
 */
export function asksForWebsocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

async function answer(routes: Routes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  if (request.method === 'OPTIONS') {
    const asked = request.headers['access-control-request-headers'] ?? '*';
    const allowed = { 'access-control-allow-methods': 'POST, GET, OPTIONS', 'access-control-allow-headers': asked };
    response.writeHead(204, { ...ANY_ORIGIN, ...allowed }).end();
    return;
  }
  if (request.method === 'GET') {
    const route = routes.rest.get(path);
    if (route) sendRest(response, await route());
    else if (path === '/') sendText(response, 405, METHOD_NOT_ALLOWED);
    else sendText(response, 404, `Nothing is served at GET ${path}`);
    return;
  }
  const route = routes.rpc(path);
  if (!route) return sendText(response, 404, `No JSON-RPC is served at ${path}`);
  if (request.method !== 'POST') return sendText(response, 405, METHOD_NOT_ALLOWED);
  if (!ACCEPTED_TYPES.test(request.headers['content-type'] ?? '')) return sendText(response, 415, WRONG_TYPE);
  const body = await readBody(request);
  if (body === null) {
    return send(response, 413, { ...TEXT_TYPE, connection: 'close' }, 'request body size exceeds allowed maximum');
  }
  await answerBody(routes, route, body, response);
}

/** Texts of a validator's server (jsonrpc-http-server, response.rs). */
const METHOD_NOT_ALLOWED = 'Used HTTP Method is not allowed. POST or OPTIONS is required\n';
const WRONG_TYPE = 'Supplied content type is not allowed. Content-Type: application/json is required\n';

/** Answer of Jito's engine to requests beyond its limit. */
const RATE_LIMITED = new CallError(-32_097, 'Network congested. Endpoint is globally rate limited.');

/**
 * Reads a body; null if it is too long, in which case the rest is not read. Iterating over the request would take
 * longer than the call itself.
 */
function readBody(request: IncomingMessage): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= MAX_BODY_BYTES) chunks.push(chunk);
      else {
        request.pause();
        resolve(null);
      }
    });
    request.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    request.on('error', reject);
  });
}

async function answerBody(
  routes: Routes,
  { node, choose, admit }: RpcRoute,
  body: string,
  response: ServerResponse,
): Promise<void> {
  let calls: unknown;
  try {
    calls = parseJson(body);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return sendJson(response, 200, errorResponse(null, new CallError(PARSE_ERROR, 'Parse error')));
  }
  const called = (Array.isArray(calls) ? calls : [calls]).map(methodName);
  if (admit?.(called.length) === false) return sendJson(response, 429, errorResponse(null, RATE_LIMITED));
  const fault = routes.faults.takeRequest(called, node);
  if (fault?.kind === 'delay') await new Promise((resolve) => setTimeout(resolve, fault.delayMs));
  // The request stays open until the client closes it or the cluster stops.
  if (fault?.kind === 'hang') return;
  if (fault?.kind === 'error') {
    const message = fault.status === 429 ? 'Too many requests' : 'Internal server error';
    return sendJson(response, fault.status, { jsonrpc: '2.0', error: { code: fault.status, message }, id: null });
  }
  const answer = await answerCalls(choose(called), calls, routes.onError);
  await routes.settled();
  send(response, 200, JSON_TYPE, answer ?? '');
}

function methodName(call: unknown): string {
  return isJsonObject(call) && typeof call.method === 'string' ? call.method : '';
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, JSON_TYPE, stringifyJson(body));
}

/** Sends the answer of a plain route: a text as it is, anything else in JSON. */
function sendRest(response: ServerResponse, body: unknown): void {
  if (typeof body === 'string') send(response, 200, {}, body);
  else sendJson(response, 200, body);
}

function sendText(response: ServerResponse, status: number, text: string): void {
  send(response, status, TEXT_TYPE, text);
}

/** Sends all headers together, because Node merges single ones for each answer. */
function send(response: ServerResponse, status: number, headers: Record<string, string>, text: string): void {
  response.writeHead(status, { ...ANY_ORIGIN, ...headers, 'content-length': Buffer.byteLength(text) }).end(text);
}
