// Burns a hundredth of every purchase: FLYWHEEL_API_KEY=… node examples/burn-on-purchase.ts wallet.json
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
  idempotencyKeyOf,
  isFlywheelError,
  pipeline,
  type RunBatchOptions,
  runBatch,
} from '@flywheel/sdk';
import { createKeyPairSignerFromBytes } from '@solana/kit';

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
    const { orderId, customer, totalCents }: Purchase = JSON.parse(await request.text());
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
      return Response.json({ batchId: id, status, executeResult }, { status: status === 'EXECUTED' ? 200 : 502 });
    } catch (error) {
      if (!isFlywheelError(error)) throw error;
      // The shop reports the order again later, and the same batch continues.
      const { code, message } = error;
      return Response.json({ error: code, message }, { status: 503, headers: { 'retry-after': '60' } });
    }
  };
}

if (import.meta.main) {
  const [walletFile = 'wallet.json'] = process.argv.slice(2);
  const { FLYWHEEL_URL: url = 'http://127.0.0.1:4000', FLYWHEEL_API_KEY: apiKey = '', PORT = '3000' } = process.env;
  const { SOLANA_RPC_URL: rpcUrl = 'http://127.0.0.1:8899' } = process.env;
  const wallet = await createKeyPairSignerFromBytes(Uint8Array.from(JSON.parse(await readFile(walletFile, 'utf8'))));
  const handle = createPurchaseHandler(createFlywheelClient({ url, apiKey }), { wallet, verify: { rpcUrl } });

  const server = createServer(async (incoming, outgoing) => {
    const request = new Request('http://shop', { method: 'POST', body: await text(incoming) });
    const response = await handle(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  });
  server.listen(Number(PORT), '127.0.0.1', () => process.stdout.write(`${JSON.stringify(server.address())}\n`));
}
