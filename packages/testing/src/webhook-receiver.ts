import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebhookEvent } from '@flywheel/api';
import { Webhook } from 'standardwebhooks';

/** A request that was posted to a receiver. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly id: string;
}

/** A receiver of webhooks on loopback, as a project runs it. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly Received[];
  /** Counts requests that have started and are not yet answered. */
  readonly open: () => number;
  /** Resolves once this number of requests was received. */
  until(count: number): Promise<readonly Received[]>;
  close(): Promise<void>;
}

export type Answer = (received: Received, response: ServerResponse, place: number) => void;

const TIMEOUT_MS = 30_000;

/** Opens a receiver that by default answers 204 to everything. */
export async function openReceiver(answer: Answer = (_, response) => response.writeHead(204).end()): Promise<Receiver> {
  const received: Received[] = [];
  const waiting = new Set<() => void>();
  let open = 0;
  const server = createServer(async (request, response) => {
    open += 1;
    response.on('close', () => {
      open -= 1;
    });
    const one = { headers: request.headers, body: await textOf(request), id: String(request.headers['webhook-id']) };
    received.push(one);
    for (const wake of [...waiting]) wake();
    answer(one, response, received.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    open: () => open,
    until: (count) =>
      new Promise((resolve, reject) => {
        const end = () => {
          clearTimeout(timer);
          waiting.delete(check);
        };
        const check = () => {
          if (received.length < count) return;
          end();
          resolve(received);
        };
        const timer = setTimeout(() => {
          end();
          reject(new Error(`Waited ${TIMEOUT_MS} ms for ${count} deliveries; ${received.length} came.`));
        }, TIMEOUT_MS);
        waiting.add(check);
        check();
      }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Verifies a request as a receiver does. @throws if the signature does not verify with this secret. */
export function verifyWebhook({ body, headers }: Received, secret: string): WebhookEvent {
  // The headers that it reads occur once.
  return WebhookEvent.parse(new Webhook(secret).verify(body, headers as Record<string, string>));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = await request.toArray();
  return Buffer.concat(chunks).toString('utf8');
}
