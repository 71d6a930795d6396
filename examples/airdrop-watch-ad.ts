// Pays what viewers have earned, each ad once, and continues after any interruption.
// FLYWHEEL_API_KEY=… npx node examples/airdrop-watch-ad.ts queue-folder wallet.json
// The folder holds events.jsonl, one line for each ad watched: {"adId":"ad-7731","viewer":"12Zg…","seconds":30}
import { open } from 'node:fs/promises';
import { airdrop, isFlywheelError } from '@flywheel/sdk';
import { createCollector } from '@flywheel/sdk/collector';
import { openSqliteStore } from '@flywheel/sdk/collector/sqlite';
import { connectFromEnvironment, readWallet } from '@flywheel/sdk/node';

const [folder = '.', walletFile = 'wallet.json'] = process.argv.slice(2);
const { client, rpcUrl, isLocalCluster } = await connectFromEnvironment();
const store = await openSqliteStore(`${folder}/payments.db`);
const approval = { wallet: await readWallet(walletFile), verify: { rpcUrl } };
const report = (news: object) => process.stdout.write(`${JSON.stringify(news)}\n`);
const handlers = { onPaid: report, onRejected: report, onAlarm: report };
const collector = await createCollector({ client, store, approval, isLocalCluster, ...handlers });

for await (const line of (await open(`${folder}/events.jsonl`)).readLines()) {
  try {
    const { adId, viewer, seconds } = JSON.parse(line);
    const actions = [airdrop(viewer, (seconds / 20).toFixed(6))];
    await collector.collect({ id: adId, type: 'WATCH_AD', payload: { adId, viewer, seconds }, actions });
  } catch (error) {
    // A line that says nothing payable must not stop the others.
    if (isFlywheelError(error, 'ERR_COLLECTOR_STOPPED')) throw error;
    report({ line, error: String(error) });
  }
}
await collector.idle();
await collector.stop();
