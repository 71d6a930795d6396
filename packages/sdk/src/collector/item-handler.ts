import { type FlywheelErrorCode, isFlywheelError } from '../errors.ts';
import type { Collector } from './collector.ts';
import { type CollectedItem, readItem } from './item.ts';

/** The HTTP status that answers each error of `collect`; 500 for every other one, which may pass. */
export const COLLECT_ERROR_STATUS: { readonly [Code in FlywheelErrorCode]?: number } = {
  ERR_INVALID_REQUEST: 400,
  ERR_FLYWHEEL_PIPELINE_TOO_BIG: 400,
  ERR_ITEM_CHANGED: 409,
  ERR_COLLECTOR_STOPPED: 503,
};

/**
 * Creates a handler of requests that each report one event, from `Request` to `Response`. It answers 200 with what has become
 * of the item once that is durable, so that an event may be reported again at any time; 400 for a body that is not an event, 409
 * for a known id with another content, 503 after the collector has stopped. The content type must be `application/json`, which
 * no page of another origin can send without being asked; verify who sends a request before this handler gets it.
 * @param toItem makes an item of the body's JSON; what it throws is the message of the answer 400. Make the id of a
 * text, or of a number up to 2^53: JSON rounds larger ones, so that two events could get one id, of which only the
 * first is paid.
 * @throws from each call any error of the store: the event may not be stored, and can be reported again. While
 * `maxPending` items are pending, a request waits; if its signal is aborted, the reason of that is thrown.
 *
 * @example
 * const handle = createItemHandler(collector, (body) => {
 *   const { orderId: id } = Order.parse(body);
 *   return { id, type: 'PURCHASE', payload: { orderId: id }, actions: [burn(1)] };
 * });
 */
export function createItemHandler(
  collector: Pick<Collector, 'collect'>,
  toItem: (body: unknown) => CollectedItem,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const [contentType = ''] = (request.headers.get('content-type') ?? '').split(';');
    if (contentType.trim().toLowerCase() !== 'application/json') {
      return answer(415, 'ERR_INVALID_REQUEST', 'The content type must be application/json.');
    }
    const text = await request.text();
    try {
      const item = readItem(text, () => toItem(JSON.parse(text)));
      return Response.json(await collector.collect(item, { signal: request.signal }));
    } catch (error) {
      const status = isFlywheelError(error) ? COLLECT_ERROR_STATUS[error.code] : undefined;
      if (!isFlywheelError(error) || status === undefined) throw error;
      return answer(status, error.code, error.message);
    }
  };
}

function answer(status: number, code: FlywheelErrorCode, message: string): Response {
  return Response.json({ error: code, message }, { status });
}
