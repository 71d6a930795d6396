import { toNodeListener } from './listener.ts';
import { nodeProcess } from './process.ts';

export interface ServeOptions {
  /** 0 takes a free port. */
  readonly port: number;
  /** Called with each error of the handler, and of a request that broke off. */
  readonly onError: (error: unknown) => void;
}

/** A running server. */
export interface Served {
  /** For example `http://127.0.0.1:3000`. */
  readonly url: string;
  /** Ends all connections. */
  stop(): Promise<void>;
}

/**
 * Serves a handler from `Request` to `Response` on this machine alone, 127.0.0.1, as `toNodeListener` does: a proxy in front
 * of it ends TLS. Resolves when it listens.
 * @throws Error if the port is taken.
 *
 * @example
 * const { url } = await serve(handle, { port: 3000, onError: console.error });
 */
export async function serve(
  handle: (request: Request) => Promise<Response>,
  { port, onError }: ServeOptions,
): Promise<Served> {
  const server = nodeProcess().getBuiltinModule('node:http').createServer(toNodeListener(handle, onError));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, HOST, resolve);
  });
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('The server has no port.');
  return {
    url: `http://${HOST}:${bound.port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}

const HOST = '127.0.0.1';
