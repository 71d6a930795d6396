import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The answer to a request; `hangUp` closes the connection, `silence` never answers. */
export type Respond = (request: Received, count: number) => Reaction | Promise<Reaction>;

export type Reaction = Answer | 'hangUp' | 'silence';

export interface StubService extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly Received[];
  /** Resolves when the callers of all requests with `silence` have closed their connections. */
  allGone(): Promise<void>;
}

/** Starts a real HTTP server that answers as `respond` says and records its requests. */
export async function startStubService(respond: Respond): Promise<StubService> {
  const received: Received[] = [];
  const gone: Promise<unknown>[] = [];
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url: path = '', headers } = request;
    const call = { method, path, headers, body: await text(request) };
    received.push(call);
    const answer = await respond(call, received.length);
    if (answer === 'silence') {
      gone.push(once(response, 'close'));
      return;
    }
    if (answer === 'hangUp') {
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A listening TCP server has an address of this shape (node:net).
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    allGone: async () => void (await Promise.all(gone)),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
