import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A false answer of a node. */
export interface Lie {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Lies by method; the empty name is a GET request. null: the truth. */
export type Lies = Readonly<Record<string, (params: readonly unknown[], truth: unknown) => Lie | null>>;

export interface LyingNode extends AsyncDisposable {
  readonly url: string;
}

/** Starts a node that answers as another one does, except for its lies. */
export async function startLyingNode(rpcUrl: string, lies: Lies): Promise<LyingNode> {
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { method, params } = body === '' ? { method: '', params: [] } : JSON.parse(body);
    const answer = await forward(rpcUrl, request, body);
    const lie = lies[method]?.(params ?? [], method === '' ? null : JSON.parse(answer).result) ?? null;
    response.writeHead(lie?.status ?? 200, { 'content-type': 'application/json', ...lie?.headers });
    response.end(
      lie === null
        ? answer
        : JSON.stringify(method === '' ? lie.result : { jsonrpc: '2.0', id: 1, ...onlyAnswer(lie) }),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function onlyAnswer({ result, error }: Lie) {
  return error ? { error } : { result };
}

async function forward(rpcUrl: string, { method, url }: IncomingMessage, body: string): Promise<string> {
  const to = new URL(url ?? '/', rpcUrl);
  const init = method === 'GET' ? {} : { method: 'POST', body, headers: { 'content-type': 'application/json' } };
  return (await fetch(to, init)).text();
}

export const MAINNET_GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';

/** A local cluster that says that it is mainnet. */
export const AS_MAINNET: Lies = { getGenesisHash: () => ({ result: MAINNET_GENESIS }) };
