// Receives a project's webhooks: WEBHOOK_SECRET=whsec_… npx node examples/webhook-receiver.ts 3000
// The secret is shown when the webhook is created: flywheel webhooks create --receiver http://127.0.0.1:3000/ …
// `createReceiver` returns a handler from Request to Response, which works in Next, Hono, Deno and workers.
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import type { WebhookEvent } from '@flywheel/sdk';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';

/** Storage and work of your own code. */
interface Inbox {
  /** Stores an event under its id; false if it is already stored. A table with a unique column does that. */
  keep(eventId: string, event: WebhookEvent): Promise<boolean>;
  /** Starts the work on a new event; it may take any time. */
  work(event: WebhookEvent): void;
}

/** Creates the receiver. An event is sent at least once, in any order: a repeated one gets the same answer. */
export function createReceiver(secret: string, inbox: Inbox) {
  const webhook = new Webhook(secret);
  return async (request: Request): Promise<Response> => {
    // The signature covers these exact bytes: parse nothing before it is checked.
    const body = await request.text();
    let event: WebhookEvent;
    try {
      // Only the service signs with this secret.
      event = webhook.verify(body, Object.fromEntries(request.headers)) as WebhookEvent;
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      return Response.json({ error: error.message }, { status: 401 });
    }
    const isNew = await inbox.keep(request.headers.get('webhook-id') ?? '', event);
    if (isNew) inbox.work(event);
    // Answer within 15 s, or the event is sent again.
    return new Response(null, { status: 204 });
  };
}

if (import.meta.main) {
  const [port = '3000'] = process.argv.slice(2);
  const kept = new Map<string, WebhookEvent>();
  const receive = createReceiver(process.env.WEBHOOK_SECRET ?? '', {
    keep: async (eventId, event) => {
      const isNew = !kept.has(eventId);
      kept.set(eventId, event);
      return isNew;
    },
    work: ({ type, timestamp, data }) => {
      process.stdout.write(`${JSON.stringify({ type, timestamp, ...data })}\n`);
    },
  });
  const server = createServer(async (incoming, outgoing) => {
    try {
      const headers = new Headers(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
      const url = new URL(incoming.url ?? '/', 'http://127.0.0.1');
      const isPost = incoming.method === 'POST';
      const body = await text(incoming);
      const response = isPost
        ? await receive(new Request(url, { method: 'POST', headers, body }))
        : new Response(null, { status: 405 });
      outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
    } catch (error) {
      // No request ends the server; the service sends the event again.
      process.stderr.write(`${String(error)}\n`);
      outgoing.writeHead(500).end();
    }
  });
  server.listen(Number(port), '127.0.0.1', () => {
    process.stdout.write(`${JSON.stringify({ listening: server.address() })}\n`);
  });
}
