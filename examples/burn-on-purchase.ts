// Burns a hundredth of every purchase: FLYWHEEL_API_KEY=… npx node examples/burn-on-purchase.ts wallet.json shop.db
// curl -d '{"orderId":"SO-20418","customer":"12Zg…","totalCents":31800}' http://127.0.0.1:3000
// `handle` takes a Request and returns a Response, so it runs in Next, Hono, Deno and workers as it is.
import { createServer } from 'node:http';
import { airdrop, burn } from '@flywheel/sdk';
import { createCollector } from '@flywheel/sdk/collector';
import { openSqliteStore } from '@flywheel/sdk/collector/sqlite';
import { connectFromEnvironment, readWallet, toNodeListener } from '@flywheel/sdk/node';
import { isAddress } from '@solana/kit';
import * as z from 'zod';

/** A customer's wallet receives the tokens. A million tokens are the most, because a typing error must not burn more. */
const Purchase = z.object({
  orderId: z.string().min(1),
  customer: z.string().refine(isAddress),
  totalCents: z.int().min(1).max(10_000_000_000),
});

const [walletFile = 'wallet.json', storeFile = 'shop.db'] = process.argv.slice(2);
const { client, rpcUrl, isLocalCluster } = await connectFromEnvironment();
const approval = { wallet: await readWallet(walletFile), verify: { rpcUrl } };
const store = await openSqliteStore(storeFile);
const onAlarm = (alarm: object) => void process.stderr.write(`${JSON.stringify(alarm)}\n`);
const collector = await createCollector({ client, store, approval, isLocalCluster, onAlarm, maxAgeMs: 1_000 });

/** Answers what has become of the order. One that is reported twice is paid once, because its id names it. */
async function handle(request: Request): Promise<Response> {
  const { data: purchase, error } = Purchase.safeParse(await request.json().catch(() => null));
  if (!purchase) return Response.json({ message: z.prettifyError(error) }, { status: 400 });
  const { orderId, customer, totalCents } = purchase;
  const actions = [burn(totalCents / 10_000), airdrop(customer, (3 * totalCents) / 10_000)];
  const payload = { orderId, totalCents };
  return Response.json(await collector.collect({ id: orderId, type: 'PRODUCT_PURCHASE', payload, actions }));
}

const server = createServer(toNodeListener(handle, (error) => onAlarm({ error: String(error) })));
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify(server.address())}\n`);
});
