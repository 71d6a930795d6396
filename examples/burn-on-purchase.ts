// Burns a hundredth of every purchase: FLYWHEEL_API_KEY=… npx node examples/burn-on-purchase.ts wallet.json
// curl -d '{"orderId":"SO-20418","customer":"12Zg…","totalCents":31800}' http://127.0.0.1:3000
// `createPurchaseHandler` returns a handler from Request to Response, which works in Next, Hono, Deno and workers.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import {
  airdrop,
  burn,
  createFlywheelClient,
  type FlywheelClient,
  type FlywheelError,
  idempotencyKeyOf,
  isFlywheelError,
  pipeline,
  type RunBatchOptions,
  runBatch,
} from '@flywheel/sdk';
import { createKeyPairSignerFromBytes, isAddress } from '@solana/kit';

interface Purchase {
  readonly orderId: string;
  /** The customer's wallet, which receives the tokens. */
  readonly customer: string;
  readonly totalCents: number;
}

/**
 * Creates the handler of a shop's webhook. An order that is reported twice is one batch: its id makes the idempotency
 * key.
 */
export function createPurchaseHandler(client: FlywheelClient, options: Pick<RunBatchOptions, 'wallet' | 'verify'>) {
  return async (request: Request): Promise<Response> => {
    const read = readPurchase(await request.text());
    if ('problem' in read) return Response.json({ error: 'INVALID_PURCHASE', message: read.problem }, { status: 400 });
    const { orderId, customer, totalCents } = read;
    const tokens = totalCents / 10_000;
    const purchase = pipeline(
      'PRODUCT_PURCHASE',
      { orderId, totalCents },
      burn(tokens),
      airdrop(customer, (3 * totalCents) / 10_000),
    );
    try {
      const idempotencyKey = await idempotencyKeyOf('purchase', orderId);
      const batch = await runBatch(client, [purchase], { ...options, idempotencyKey, signal: request.signal });
      const { id, status, executeResult } = batch;
      return Response.json({ batchId: id, status, executeResult }, { status: status === 'EXECUTED' ? 200 : FINAL });
    } catch (error) {
      if (!isFlywheelError(error)) throw error;
      const { code, message, problems } = error;
      if (!isTemporary(error)) return Response.json({ error: code, message, problems }, { status: FINAL });
      // The shop reports the order again later, and the same batch continues.
      return Response.json({ error: code, message }, { status: 503, headers: { 'retry-after': '60' } });
    }
  };
}

/** Tells the shop that a person must look: the same order always gets the same answer. */
const FINAL = 422;

/** Errors that pass without a change of the order. */
const TEMPORARY_CODES: ReadonlySet<string> = new Set([
  'ERR_VAULT_UNDERFUNDED',
  'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED',
  'ERR_ROTATION_OPEN',
  'ERR_UNREACHABLE',
  'ERR_TIMED_OUT',
]);

function isTemporary({ code, status }: FlywheelError): boolean {
  return TEMPORARY_CODES.has(code) || status === 429 || (status !== null && status >= 500);
}

function readPurchase(text: string): Purchase | { readonly problem: string } {
  let value: Partial<Purchase> | null;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: 'The body is not JSON.' };
  }
  const { orderId, customer, totalCents } = value ?? {};
  if (typeof orderId !== 'string' || orderId === '') return { problem: 'orderId must be a text.' };
  if (typeof customer !== 'string' || !isAddress(customer)) return { problem: 'customer must be an address.' };
  if (!Number.isSafeInteger(totalCents) || totalCents === undefined || totalCents < 1 || totalCents > MAX_TOTAL_CENTS) {
    return { problem: `totalCents must be a whole number from 1 to ${MAX_TOTAL_CENTS}.` };
  }
  return { orderId, customer, totalCents };
}

/** A million tokens; a typing error must not burn more. */
const MAX_TOTAL_CENTS = 10_000_000_000;

if (import.meta.main) {
  const [walletFile = 'wallet.json'] = process.argv.slice(2);
  const { FLYWHEEL_URL: url = 'http://127.0.0.1:4000', FLYWHEEL_API_KEY: apiKey = '', PORT = '3000' } = process.env;
  const { SOLANA_RPC_URL: rpcUrls = 'http://127.0.0.1:8899' } = process.env;
  const wallet = await createKeyPairSignerFromBytes(Uint8Array.from(JSON.parse(await readFile(walletFile, 'utf8'))));
  const handle = createPurchaseHandler(createFlywheelClient({ url, apiKey }), {
    wallet,
    verify: { rpcUrl: rpcUrls.split(',') },
  });

  const server = createServer(async (incoming, outgoing) => {
    try {
      const request = new Request('http://shop', { method: 'POST', body: await text(incoming) });
      const response = await handle(request);
      outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
    } catch (error) {
      // No request ends the shop's server.
      process.stderr.write(`${String(error)}\n`);
      outgoing.writeHead(500).end();
    }
  });
  server.listen(Number(PORT), '127.0.0.1', () => process.stdout.write(`${JSON.stringify(server.address())}\n`));
}
