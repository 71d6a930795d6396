/**
 * The idempotency key of a piece of work, the same whenever it is asked for: a UUID (RFC 9562, version 8) from SHA-256 of
 * the parts. With it, work that is reported twice is one batch, and nothing has to be stored.
 *
 * @example
 * await runBatch(client, pipelines, { wallet, idempotencyKey: await idempotencyKeyOf('purchase', orderId) });
 */
export async function idempotencyKeyOf(...parts: readonly string[]): Promise<string> {
  // JSON keeps the parts apart: ('a', 'bc') is not ('ab', 'c').
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(parts)));
  const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
  const variant = VARIANTS.charAt(Number.parseInt(hex.charAt(16), 16) % VARIANTS.length);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** The digits whose first two bits are 10, as RFC 9562 wants them. */
const VARIANTS = '89ab';
