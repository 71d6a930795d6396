// Pays what viewers have earned, each ad once, and continues after any interruption.
// FLYWHEEL_API_KEY=… npx node examples/airdrop-watch-ad.ts queue-folder wallet.json
// The folder holds events.jsonl, one line for each ad watched: {"adId":"ad-7731","viewer":"12Zg…","seconds":30}
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { airdrop, createFlywheelClient, isFlywheelError } from '@flywheel/sdk';
import { createCollector } from '@flywheel/sdk/collector';
import { openSqliteStore } from '@flywheel/sdk/collector/sqlite';
import { createKeyPairSignerFromBytes } from '@solana/kit';

const [folder = '.', walletFile = 'wallet.json'] = process.argv.slice(2);
const { FLYWHEEL_URL: url = 'http://127.0.0.1:4000', FLYWHEEL_API_KEY: apiKey = '' } = process.env;
const { SOLANA_RPC_URL: rpcUrls = 'http://127.0.0.1:8899' } = process.env;
const wallet = await createKeyPairSignerFromBytes(Uint8Array.from(JSON.parse(await readFile(walletFile, 'utf8'))));
// A local cluster undoes nothing, so small batches are sent at once and count at once.
const isLocal = new URL(url).hostname === '127.0.0.1';
const pace = isLocal ? { maxAgeMs: 500, minOpenIntervalMs: 0, finalAfterMs: 0 } : {};

const collector = await createCollector({
  client: createFlywheelClient({ url, apiKey }),
  store: await openSqliteStore(join(folder, 'payments.db')),
  approval: { wallet, verify: { rpcUrl: rpcUrls.split(',') } },
  onPaid: ({ id, batchId }) => print({ paid: id, batchId }),
  onRejected: ({ id, reason }) => print({ rejected: id, reason }),
  onAlarm: (alarm) => process.stderr.write(`${alarm.kind}: ${JSON.stringify(alarm)}\n`),
  ...pace,
});
for await (const line of createInterface({ input: createReadStream(join(folder, 'events.jsonl')) })) {
  try {
    const { adId, viewer, seconds } = JSON.parse(line);
    const earned = airdrop(viewer, (seconds / 20).toFixed(6));
    await collector.collect({ id: adId, type: 'WATCH_AD', payload: { adId, viewer, seconds }, actions: [earned] });
  } catch (error) {
    // A line that says nothing payable must not stop the others.
    if (isFlywheelError(error, 'ERR_COLLECTOR_STOPPED')) throw error;
    process.stderr.write(`${line}: ${String(error)}\n`);
  }
}
await collector.idle();
await collector.stop();

function print(result: object): void {
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
