import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { asksForWebsocket } from './rpc/server.ts';
import type { WebsocketGate } from './subscriptions/websocket.ts';

/** Number of port pairs that are tried when the port is 0. */
const PAIR_ATTEMPTS = 10;

export interface Listening {
  readonly port: number;
  /** Second port for WebSockets, one above `port`, where web3.js 1.x and the Solana CLI connect; null if it was taken. */
  readonly websocketPort: number | null;
  close(): Promise<void>;
}

/**
 * Serves JSON-RPC on a port (0 picks one whose next port is free too), and WebSockets on both. If only the
 * next port is taken, WebSockets are served on `port` alone.
 * @throws Error if the port is taken.
 */
export async function listenWithWebsockets(
  server: Server,
  gate: WebsocketGate,
  { port, host }: { readonly port: number; readonly host: string },
): Promise<Listening> {
  gate.serve(server);
  const neighbour = createServer({ shouldUpgradeCallback: asksForWebsocket }, (_request, response) => {
    response.writeHead(426, { 'content-type': 'text/plain', connection: 'close' }).end('Only WebSockets here');
  });
  neighbour.on('clientError', (_error, socket) => socket.destroy());
  gate.serve(neighbour);
  let own = await listen(server, port, host);
  let paired = await tryListen(neighbour, own + 1, host);
  for (let attempt = 1; port === 0 && !paired && attempt < PAIR_ATTEMPTS; attempt++) {
    await close(server);
    own = await listen(server, 0, host);
    paired = await tryListen(neighbour, own + 1, host);
  }
  return {
    port: own,
    websocketPort: paired ? own + 1 : null,
    close: async () => {
      gate.close();
      await Promise.all([close(server), ...(paired ? [close(neighbour)] : [])]);
    },
  };
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port); // a TCP server that listens has one
    });
  });
}

async function tryListen(server: Server, port: number, host: string): Promise<boolean> {
  try {
    await listen(server, port, host);
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    // There is no port above 65535.
    if (code === 'EADDRINUSE' || code === 'EACCES' || code === 'ERR_SOCKET_BAD_PORT') return false;
    throw error;
  }
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
