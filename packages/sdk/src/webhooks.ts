import { WebhookEvent } from '@flywheel/api';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';

/**
 * Creates the handler of a webhook's requests, from `Request` to `Response`. It verifies each request with the secret
 * before it parses anything, and answers 401 to what was not signed with it in the last five minutes. It answers 204
 * after `onEvent`, which must take less than 15 s: otherwise, and if `onEvent` throws, the service sends the event again.
 * @param onEvent receives each event at least once, in any order, with the same id each time.
 * @throws Error for a secret that is not one. The handler throws what `onEvent` throws, and a ZodError for an event that
 * is newer than this package.
 *
 * @example
 * const receive = createWebhookHandler(secret, async (event, eventId) => inbox.add(eventId, event));
 */
export function createWebhookHandler(
  secret: string,
  onEvent: (event: WebhookEvent, eventId: string) => Promise<void> | void,
): (request: Request) => Promise<Response> {
  const webhook = new Webhook(secret);
  return async (request) => {
    // The signature covers these exact bytes.
    const body = await request.text();
    let signed: unknown;
    try {
      signed = webhook.verify(body, Object.fromEntries(request.headers));
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      return Response.json({ message: error.message }, { status: 401 });
    }
    await onEvent(WebhookEvent.parse(signed), request.headers.get('webhook-id') ?? '');
    return new Response(null, { status: 204 });
  };
}
