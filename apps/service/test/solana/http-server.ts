import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly body: { readonly method?: string; readonly params?: readonly unknown[] };
}

/** What the server answers: a JSON-RPC result, a whole HTTP answer, or nothing. */
export type Answer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } }
  | { readonly status: number; readonly headers?: Record<string, string>; readonly text?: string }
  | 'hang'
  | 'hang in the body'
  | 'hang up'
  | 'switch protocols';

export interface HttpServer {
  readonly url: string;
  readonly requests: readonly Request[];
  stop(): Promise<void>;
}

/** Starts a real HTTP server that answers each request as `answer` says. */
export async function startHttpServer(
  answer: (request: Request, count: number) => Answer | Promise<Answer>,
): Promise<HttpServer> {
  const requests: Request[] = [];
  const server = createServer((request, response) => {
    readBody(request).then(async (text) => {
      const body = text === '' ? {} : JSON.parse(text);
      const parsed = { method: request.method ?? '', path: request.url ?? '', body };
      requests.push(parsed);
      respond(response, await answer(parsed, requests.length));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function respond(response: ServerResponse, answer: Answer): void {
  if (answer === 'hang') return;
  if (answer === 'hang up') {
    response.destroy();
    return;
  }
  if (answer === 'switch protocols') {
    response.socket?.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    return;
  }
  if (answer === 'hang in the body') {
    response.writeHead(200, { 'content-length': '1000' }).write('{"jsonrpc":');
    return;
  }
  if ('status' in answer) {
    response.writeHead(answer.status, answer.headers).end(answer.text ?? '');
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...answer }));
}
