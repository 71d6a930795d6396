// Pays what viewers have earned, each ad once, and continues after any interruption.
// FLYWHEEL_API_KEY=… npx node examples/airdrop-watch-ad.ts queue-folder wallet.json
// The folder holds events.jsonl, one line for each ad watched: {"adId":"ad-7731","viewer":"12Zg…","seconds":30}
import { readFile } from 'node:fs/promises';
import { airdrop } from '@flywheel/sdk';
import { createCollectorFromEnvironment } from '@flywheel/sdk/node';

const [folder = '.', walletFile = 'wallet.json'] = process.argv.slice(2);
const report = (news: object) => void process.stdout.write(`${JSON.stringify(news)}\n`);
const handlers = { onPaid: report, onRejected: report, onAlarm: report };
const collector = await createCollectorFromEnvironment({ storeFile: `${folder}/payments.db`, walletFile, ...handlers });

// A line that says nothing payable is an alarm, and does not stop the others. Only \n ends a line: readline also splits at
// U+2028, which may stand in the text of JSON.
await collector.collectAll((await readFile(`${folder}/events.jsonl`, 'utf8')).split('\n').filter(Boolean), (line) => {
  const { adId: id, viewer, seconds } = JSON.parse(line);
  const actions = [airdrop(viewer, (seconds / 20).toFixed(6))];
  return { id, type: 'WATCH_AD', payload: { adId: id, viewer, seconds }, actions };
});
await collector.stop();
