import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';

/** A proxy before PostgreSQL that counts what passes, and can lose the server. */
export interface DatabaseProxy {
  /** The database's URL through the proxy. */
  readonly url: string;
  /** Requests that the client waited for, and bytes both ways, so far. */
  counts(): { readonly roundTrips: number; readonly bytes: number };
  /** Breaks all connections, later ones too, until `restore`: the server has been killed. */
  cut(): void;
  restore(): void;
  /** Passes nothing on any more, and breaks nothing: the server's machine has lost its power. */
  fallSilent(): void;
  stop(): Promise<void>;
}

/** Opens a proxy before the database of a URL whose server listens on a unix socket. */
export async function openDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const directory = target.searchParams.get('host');
  if (directory === null) throw new Error('The URL names no directory of a socket.');
  const path = join(directory, `.s.PGSQL.${target.port}`);
  const counts = { roundTrips: 0, bytes: 0 };
  const sockets = new Set<Socket>();
  let state: 'open' | 'cut' | 'silent' = 'open';
  // The end of one side reaches the other through the pipe, or not at all.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (state === 'cut') {
      client.destroy();
      return;
    }
    const upstream = connect({ path, allowHalfOpen: true });
    const count = createMessageCounter(() => {
      counts.roundTrips += 1;
    });
    client.on('data', (chunk) => {
      counts.bytes += chunk.length;
      count(chunk);
    });
    upstream.on('data', (chunk) => {
      counts.bytes += chunk.length;
    });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      if (state === 'open') socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `postgresql://${target.username}@127.0.0.1:${port}${target.pathname}?sslmode=disable`,
    counts: () => ({ ...counts }),
    cut: () => {
      state = 'cut';
      for (const socket of sockets) socket.destroy();
    },
    restore: () => {
      state = 'open';
    },
    fallSilent: () => {
      state = 'silent';
      for (const socket of sockets) socket.unpipe();
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * Follows the messages of a client (PostgreSQL, frontend/backend protocol 3.0): each begins with a type and a length, the first one
 * with a length alone. A simple query (`Q`) and a `Sync` (`S`) are what a client waits for.
 */
function createMessageCounter(onRequest: () => void): (chunk: Buffer) => void {
  let isFirst = true;
  let head = Buffer.alloc(0);
  let left = 0;
  return (chunk) => {
    for (let place = 0; place < chunk.length; ) {
      if (left > 0) {
        const passed = Math.min(left, chunk.length - place);
        left -= passed;
        place += passed;
        continue;
      }
      const typeBytes = isFirst ? 0 : 1;
      const missing = typeBytes + LENGTH_BYTES - head.length;
      const part = chunk.subarray(place, place + missing);
      head = Buffer.concat([head, part]);
      place += part.length;
      if (head.length < typeBytes + LENGTH_BYTES) return;
      const type = isFirst ? '' : String.fromCharCode(head[0] ?? 0);
      if (type === 'Q' || type === 'S') onRequest();
      left = head.readInt32BE(typeBytes) - LENGTH_BYTES;
      head = Buffer.alloc(0);
      isFirst = false;
    }
  };
}

const LENGTH_BYTES = 4;
