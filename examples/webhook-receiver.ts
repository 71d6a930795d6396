// Receives a project's webhooks: WEBHOOK_SECRET=whsec_… node examples/webhook-receiver.ts 3000
// The secret is shown when the webhook is created: flywheel webhooks create --receiver http://127.0.0.1:3000/ …
// `createReceiver` makes a handler of Request and Response alone, as Next, Hono, Deno and workers take it.
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import type { WebhookEvent } from '@flywheel/sdk';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';

/** What your own code keeps and does. */
interface Inbox {
  /** Keeps an event under its id, once: false when it is there already. A table with a unique column does. */
  keep(eventId: string, event: WebhookEvent): Promise<boolean>;
  /** Woken for each event that is new; may take as long as it takes. */
  work(event: WebhookEvent): void;
}

/** An event is sent at least once, in no certain order: what was had before is answered just as well. */
export function createReceiver(secret: string, inbox: Inbox) {
  const webhook = new Webhook(secret);
  return async (request: Request): Promise<Response> => {
    // The signature is over these very bytes: parse nothing before it is checked.
    const body = await request.text();
    let event: WebhookEvent;
    try {
      // What this secret has signed was made by the service.
      event = webhook.verify(body, Object.fromEntries(request.headers)) as WebhookEvent;
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      return Response.json({ error: error.message }, { status: 401 });
    }
    const isNew = await inbox.keep(request.headers.get('webhook-id') ?? '', event);
    if (isNew) inbox.work(event);
    // Within 15 s, or it is sent again.
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
    const headers = new Headers(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
    const url = new URL(incoming.url ?? '/', 'http://127.0.0.1');
    const isPost = incoming.method === 'POST';
    const body = await text(incoming);
    const response = isPost
      ? await receive(new Request(url, { method: 'POST', headers, body }))
      : new Response(null, { status: 405 });
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  });
  server.listen(Number(port), '127.0.0.1', () => {
    process.stdout.write(`${JSON.stringify({ listening: server.address() })}\n`);
  });
}
