import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Who has connected and asked for nothing by then, as browsers do ahead of time, has nothing to lose. */
const SILENT_MS = 1_000;
/** As long as a request may take to arrive. Whoever has not sent his by then, or not read his answer, never will. */
const SLOW_MS = 30_000;

/**
 * Bounds how long a server takes to close. Node waits for every connection that it does not know to be idle, and from
 * then on enforces none of its time-outs: one that has never asked for anything, or half, would hold it open for good.
 */
export function hangUpOnClose(server: FastifyInstance): void {
  /** How many requests each connection waits to have answered. */
  const waiting = new Map<Socket, number>();
  server.server.on('connection', (socket: Socket) => {
    waiting.set(socket, 0);
    socket.once('close', () => waiting.delete(socket));
  });
  server.server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const add = (more: 1 | -1) => {
      const before = waiting.get(socket);
      if (before !== undefined) waiting.set(socket, before + more);
    };
    add(1);
    response.once('close', () => add(-1));
  });
  server.addHook('preClose', (done) => {
    const hangUp = (isMeant: (requests: number) => boolean) => () => {
      for (const [socket, requests] of waiting) if (isMeant(requests)) socket.destroy();
    };
    // Neither keeps a process alive whose connections are all closed.
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
