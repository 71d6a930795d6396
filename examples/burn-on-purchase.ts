// Burns a hundredth of every purchase: FLYWHEEL_API_KEY=… npx node examples/burn-on-purchase.ts wallet.json shop.db 3000
// curl --json '{"orderId":"SO-20418","customer":"12Zg…","totalCents":31800}' http://127.0.0.1:3000
// `handle` takes a Request and returns a Response, so it runs in Next, Hono, Deno and workers as it is.
import { airdrop, burn } from '@flywheel/sdk';
import { createItemHandler } from '@flywheel/sdk/collector';
import { createCollectorFromEnvironment, serve } from '@flywheel/sdk/node';
import * as z from 'zod';

// A million tokens are the most, because a typing error must not burn more.
const Purchase = z.object({ orderId: z.string(), customer: z.string(), totalCents: z.int().max(10_000_000_000) });
const [walletFile = 'wallet.json', storeFile = 'shop.db', port = '3000'] = process.argv.slice(2);
const print = (news: object) => void process.stdout.write(`${JSON.stringify(news)}\n`);
const collector = await createCollectorFromEnvironment({ storeFile, walletFile, onAlarm: print, maxAgeMs: 1_000 });
// An order that is reported twice is paid once, because its id names it.
const handle = createItemHandler(collector, (body) => {
  const { orderId, customer, totalCents } = Purchase.parse(body);
  const actions = [burn(totalCents / 10_000), airdrop(customer, (3 * totalCents) / 10_000)];
  return { id: orderId, type: 'PRODUCT_PURCHASE', payload: { orderId, totalCents }, actions };
});
print(await serve(handle, { port: Number(port), onError: (error) => print({ error: String(error) }) }));
