import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Browsers open connections ahead of time; one that has sent no request by then loses nothing. */
const SILENT_MS = 1_000;
/**
 * A client whose request was not answered by then repeats it. With the 10 s of running jobs, a stop ends within 25 s
 * (`main.ts`).
 */
const SLOW_MS = 12_000;

/**
 * Bounds how long a server takes to close. Node waits for every connection that it does not know to be idle, and while
 * closing it enforces none of its timeouts: a connection without a request, or with half of one, would keep the server
 * open forever.
 */
export function hangUpOnClose(server: FastifyInstance): void {
  /** The number of unanswered requests of each connection. */
  const pending = new Map<Socket, number>();
  server.server.on('connection', (socket: Socket) => {
    pending.set(socket, 0);
    socket.once('close', () => pending.delete(socket));
  });
  server.server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const add = (more: 1 | -1) => {
      const before = pending.get(socket);
      if (before !== undefined) pending.set(socket, before + more);
    };
    add(1);
    response.once('close', () => add(-1));
  });
  server.addHook('preClose', (done) => {
    const hangUp = (isMeant: (requests: number) => boolean) => () => {
      for (const [socket, requests] of pending) if (isMeant(requests)) socket.destroy();
    };
    // Unreferenced, so that neither timer keeps a process alive whose connections are all closed.
    setTimeout(
      hangUp((requests) => requests === 0),
      SILENT_MS,
    ).unref();
    setTimeout(
      hangUp(() => true),
      SLOW_MS,
    ).unref();
    done();
  });
}
