import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Faults } from '../faults.ts';
import { parseJson, stringifyJson } from '../json.ts';
import { answerCall, failure, isRecord, type Methods } from './answer-call.ts';
import { INVALID_REQUEST, PARSE_ERROR, RpcError } from './rpc-error.ts';

/** What a validator accepts at most (rpc, MAX_REQUEST_BODY_SIZE). */
const MAX_BODY_BYTES = 50 * 1024;

export interface Routes {
  /** JSON-RPC methods by path. */
  readonly rpc: ReadonlyMap<string, Methods>;
  /** Plain GET routes by path. */
  readonly rest: ReadonlyMap<string, () => unknown>;
  readonly faults: Faults;
  /** Awaited before a call is answered, so that what is told has been stored. */
  readonly settled: () => Promise<void>;
  /** Told of exceptions that are no RpcError: they are our own bugs. */
  readonly onError: (error: unknown) => void;
}

/** An HTTP server that speaks JSON-RPC 2.0 like a Solana validator: any origin may call it, batches are answered. */
export function createRpcServer(routes: Routes): Server {
  const server = createServer((request, response) => {
    answer(routes, request, response).catch((error: unknown) => {
      routes.onError(error);
      response.destroy();
    });
  });
  // A connection is torn down by its client at any time; without a listener that would end the process.
  server.on('clientError', (_error, socket) => socket.destroy());
  return server;
}

async function answer(routes: Routes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  response.setHeader('access-control-allow-origin', '*');
  if (request.method === 'OPTIONS') {
    response.setHeader('access-control-allow-methods', 'POST, GET, OPTIONS');
    response.setHeader('access-control-allow-headers', request.headers['access-control-request-headers'] ?? '*');
    response.writeHead(204).end();
    return;
  }
  if (request.method === 'GET') {
    const route = routes.rest.get(path);
    if (route) sendJson(response, 200, await route());
    else sendText(response, 404, `Nothing is served at GET ${path}`);
    return;
  }
  const methods = routes.rpc.get(path);
  if (!methods) return sendText(response, 404, `No JSON-RPC is served at ${path}`);
  if (request.method !== 'POST') return sendText(response, 405, 'Use POST');
  const body = await readBody(request);
  if (body === null) {
    response.setHeader('connection', 'close');
    sendJson(
      response,
      413,
      failure(null, new RpcError(INVALID_REQUEST, `Request body exceeds ${MAX_BODY_BYTES} bytes`)),
    );
    return;
  }
  await answerCalls(routes, methods, body, response);
}

/** null when it is too long; then the rest is not read. Iterating over the request would take longer than answering it. */
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

async function answerCalls(routes: Routes, methods: Methods, body: string, response: ServerResponse): Promise<void> {
  let calls: unknown;
  try {
    calls = parseJson(body);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return sendJson(response, 200, failure(null, new RpcError(PARSE_ERROR, 'Parse error')));
  }
  const fault = routes.faults.takeRequest((Array.isArray(calls) ? calls : [calls]).map(methodName));
  if (fault?.kind === 'delay') await new Promise((resolve) => setTimeout(resolve, fault.delayMs));
  // Held until the client gives up or the cluster stops.
  if (fault?.kind === 'hang') return;
  if (fault?.kind === 'error') {
    const message = fault.status === 429 ? 'Too many requests' : 'Internal server error';
    return sendJson(response, fault.status, { jsonrpc: '2.0', error: { code: fault.status, message }, id: null });
  }
  if (!Array.isArray(calls)) {
    const result = await answerCall(methods, calls, routes.onError);
    await routes.settled();
    if (result === null) response.writeHead(204).end();
    else sendJson(response, 200, result);
    return;
  }
  if (calls.length === 0) return sendJson(response, 200, failure(null, new RpcError(INVALID_REQUEST, 'Empty batch')));
  const results: unknown[] = [];
  // One after the other: calls in a batch may depend on the order they are written in.
  for (const call of calls) {
    const result = await answerCall(methods, call, routes.onError);
    if (result !== null) results.push(result);
  }
  await routes.settled();
  if (results.length === 0) response.writeHead(204).end();
  else sendJson(response, 200, results);
}

function methodName(call: unknown): string {
  return isRecord(call) && typeof call.method === 'string' ? call.method : '';
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = stringifyJson(body);
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(text) })
    .end(text);
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(text);
}
