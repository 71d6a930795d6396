// Receives a project's webhooks: WEBHOOK_SECRET=whsec_… npx node examples/webhook-receiver.ts 3000
// The secret is shown when the webhook is created: flywheel webhooks create --receiver http://127.0.0.1:3000/ …
// `receive` takes a Request and returns a Response, so it runs in Next, Hono, Deno and workers as it is.
import { serve } from '@flywheel/sdk/node';
import { createWebhookHandler } from '@flywheel/sdk/webhooks';

const [port = '3000'] = process.argv.slice(2);
const { WEBHOOK_SECRET } = process.env;
if (!WEBHOOK_SECRET) {
  process.stderr.write('Usage: WEBHOOK_SECRET=whsec_… npx node examples/webhook-receiver.ts <port>\n');
  process.exit(2);
}
const print = (line: object) => void process.stdout.write(`${JSON.stringify(line)}\n`);
// An event is sent at least once, in any order. A table with a unique column remembers it after a restart, too.
const known = new Set<string>();
const receive = createWebhookHandler(WEBHOOK_SECRET, ({ type, timestamp, data }, eventId) => {
  if (!known.has(eventId)) print({ type, timestamp, ...data });
  known.add(eventId);
});
print(await serve(receive, { port: Number(port), onError: (error) => print({ error: String(error) }) }));
