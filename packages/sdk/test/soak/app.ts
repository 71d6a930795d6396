// An app that pays for events, for the soak to kill: it collects the events of its source at a steady rate, and repeats the
// last ones at each start, as a queue does that delivers at least once.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFlywheelClient } from '@flywheel/sdk';
import { createCollector } from '@flywheel/sdk/collector';
import { openSqliteStore } from '@flywheel/sdk/collector/sqlite';
import { createKeyPairSignerFromPrivateKeyBytes } from '@solana/kit';
import { eventOf, REPEATED_EVENTS, type SoakSetup } from './events.ts';

const [folder = '.'] = process.argv.slice(2);
const setup: SoakSetup = JSON.parse(readFileSync(join(folder, 'setup.json'), 'utf8'));
const cursorFile = join(folder, 'cursor');
const cursor = Number(readFileSync(cursorFile, 'utf8'));
/** Number of the event before which the last run ends; no run before it ends by itself. */
const end = Number(process.env.SOAK_END ?? Number.POSITIVE_INFINITY);

const collector = await createCollector({
  client: createFlywheelClient({ url: setup.url, apiKey: setup.apiKey }),
  store: await openSqliteStore(join(folder, 'payments.db')),
  approval: {
    wallet: await createKeyPairSignerFromPrivateKeyBytes(Uint8Array.from(setup.walletBytes)),
    verify: { rpcUrl: setup.rpcUrl },
  },
  // Some runs merge and others do not, and each continues the batches of the other.
  mergeAirdrops: cursor % 2 === 0,
  ...{ maxItems: 100, maxAgeMs: 500, minOpenIntervalMs: 0, finalAfterMs: 0, retryMs: [100, 1_000] },
  onAlarm: (alarm) => {
    if (alarm.kind === 'stopped') process.stderr.write(`${String(alarm.error.stack)}\n`);
  },
});
process.stdout.write('ready\n');

const beganMs = Date.now();
const first = Math.max(0, cursor - REPEATED_EVENTS);
for (let n = first; n < end; n += 1) {
  await sleep(Math.max(0, beganMs + (1_000 * (n - first)) / setup.eventsPerSecond - Date.now()));
  await Promise.all([
    collector.collect(eventOf(setup, n)),
    ...(n % 10 === 0 ? [collector.collect(eventOf(setup, n))] : []),
  ]);
  writeFileSync(`${cursorFile}.new`, String(Math.max(cursor, n + 1)));
  renameSync(`${cursorFile}.new`, cursorFile);
}
await collector.idle();
await collector.stop();
