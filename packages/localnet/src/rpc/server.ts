import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Faults } from '../faults.ts';
import { parseJson, stringifyJson } from '../json.ts';
import { answerCall, failure, isRecord, type Methods } from './answer-call.ts';
import { INVALID_REQUEST, PARSE_ERROR, RpcError } from './rpc-error.ts';

/** Maximum body size of a validator (rpc, MAX_REQUEST_BODY_SIZE). */
const MAX_BODY_BYTES = 50 * 1024;
const ANY_ORIGIN = { 'access-control-allow-origin': '*' };
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

export interface Routes {
  /** Finds the route of a path; null if no JSON-RPC is served there. */
  readonly rpc: (path: string) => RpcRoute | null;
  /** Plain GET routes by path. */
  readonly rest: ReadonlyMap<string, () => unknown>;
  readonly faults: Faults;
  /** Awaited before each response, so that a response never contains what is not stored. */
  readonly settled: () => Promise<void>;
  /** Called with exceptions other than RpcError, which are bugs of the cluster. */
  readonly onError: (error: unknown) => void;
}

/** One endpoint for JSON-RPC. */
export interface RpcRoute {
  /** Name by which faults are limited to this endpoint. */
  readonly node: string;
  /** Chooses the methods from the names of the called ones. */
  readonly choose: (called: readonly string[]) => Methods;
}

/** Creates an HTTP server for JSON-RPC 2.0 that behaves like a Solana validator: it allows any origin, and batches. */
export function createRpcServer(routes: Routes): Server {
  const server = createServer((request, response) => {
    answer(routes, request, response).catch((error: unknown) => {
      routes.onError(error);
      response.destroy();
    });
  });
  // A client may break its connection at any time; without a listener that would end the process.
  server.on('clientError', (_error, socket) => socket.destroy());
  return server;
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
    if (route) sendJson(response, 200, await route());
    else sendText(response, 404, `Nothing is served at GET ${path}`);
    return;
  }
  const route = routes.rpc(path);
  if (!route) return sendText(response, 404, `No JSON-RPC is served at ${path}`);
  if (request.method !== 'POST') return sendText(response, 405, 'Use POST');
  const body = await readBody(request);
  if (body === null) {
    const tooLong = new RpcError(INVALID_REQUEST, `Request body exceeds ${MAX_BODY_BYTES} bytes`);
    return send(response, 413, { ...JSON_TYPE, connection: 'close' }, stringifyJson(failure(null, tooLong)));
  }
  await answerCalls(routes, route, body, response);
}

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

async function answerCalls(
  routes: Routes,
  { node, choose }: RpcRoute,
  body: string,
  response: ServerResponse,
): Promise<void> {
  let calls: unknown;
  try {
    calls = parseJson(body);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return sendJson(response, 200, failure(null, new RpcError(PARSE_ERROR, 'Parse error')));
  }
  const called = (Array.isArray(calls) ? calls : [calls]).map(methodName);
  const fault = routes.faults.takeRequest(called, node);
  if (fault?.kind === 'delay') await new Promise((resolve) => setTimeout(resolve, fault.delayMs));
  // The request stays open until the client closes it or the cluster stops.
  if (fault?.kind === 'hang') return;
  if (fault?.kind === 'error') {
    const message = fault.status === 429 ? 'Too many requests' : 'Internal server error';
    return sendJson(response, fault.status, { jsonrpc: '2.0', error: { code: fault.status, message }, id: null });
  }
  const methods = choose(called);
  if (!Array.isArray(calls)) {
    const result = await answerCall(methods, calls, routes.onError);
    await routes.settled();
    if (result === null) sendNothing(response);
    else sendJson(response, 200, result);
    return;
  }
  if (calls.length === 0) return sendJson(response, 200, failure(null, new RpcError(INVALID_REQUEST, 'Empty batch')));
  const results: unknown[] = [];
  // In sequence, because calls in a batch may depend on their order.
  for (const call of calls) {
    const result = await answerCall(methods, call, routes.onError);
    if (result !== null) results.push(result);
  }
  await routes.settled();
  if (results.length === 0) sendNothing(response);
  else sendJson(response, 200, results);
}

function methodName(call: unknown): string {
  return isRecord(call) && typeof call.method === 'string' ? call.method : '';
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, JSON_TYPE, stringifyJson(body));
}

function sendText(response: ServerResponse, status: number, text: string): void {
  send(response, status, { 'content-type': 'text/plain; charset=utf-8' }, text);
}

/** Sends all headers together, because Node merges single ones for each answer. */
function send(response: ServerResponse, status: number, headers: Record<string, string>, text: string): void {
  response.writeHead(status, { ...ANY_ORIGIN, ...headers, 'content-length': Buffer.byteLength(text) }).end(text);
}

function sendNothing(response: ServerResponse): void {
  response.writeHead(204, ANY_ORIGIN).end();
}
