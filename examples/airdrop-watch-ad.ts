// Pays rewards from a queue, one batch at a time. It can be interrupted at any moment and pays everything once.
// FLYWHEEL_API_KEY=… node examples/airdrop-watch-ad.ts queue-folder wallet.json
// The folder holds events.jsonl, a line for each watched ad: {"adId":"ad-7731","viewer":"12Zg…","seconds":30}
import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { airdrop, createFlywheelClient, type Pipeline, packActions, runBatch } from '@flywheel/sdk';
import { createKeyPairSignerFromBytes } from '@solana/kit';

interface AdWatched {
  readonly adId: string;
  readonly viewer: string;
  readonly seconds: number;
}

/**
 * Lines that the worker has taken from the queue and not finished. Its key makes them one batch, however often it
 * starts.
 */
interface Claim {
  readonly idempotencyKey: string;
  readonly pipelines: readonly Pipeline[];
  /** Number of finished lines when this claim was taken, and number of its own lines. */
  readonly from: number;
  readonly count: number;
}

const EVENTS_A_BATCH = 100;
const TOKENS_A_SECOND = 0.05;

const [folder = '.', walletFile = 'wallet.json'] = process.argv.slice(2);
const { FLYWHEEL_URL: url = 'http://127.0.0.1:4000', FLYWHEEL_API_KEY: apiKey = '' } = process.env;
const { SOLANA_RPC_URL: rpcUrl = 'http://127.0.0.1:8899' } = process.env;
const wallet = await createKeyPairSignerFromBytes(Uint8Array.from(JSON.parse(await readFile(walletFile, 'utf8'))));
const client = createFlywheelClient({ url, apiKey });

for (let claim = await nextClaim(); claim !== null; claim = await nextClaim()) {
  const { pipelines, idempotencyKey, from, count } = claim;
  const batch = await runBatch(client, pipelines, { wallet, verify: { rpcUrl }, idempotencyKey });
  if (batch.status !== 'EXECUTED') throw new Error(`Batch ${batch.id}: ${batch.executeResult?.failedTxMsg}`);
  process.stdout.write(`${JSON.stringify({ batchId: batch.id, from, count })}\n`);
  await writeWhole('done.json', { lines: from + count });
  await rm(join(folder, 'claim.json'));
}

/**
 * Returns the unfinished claim if there is one; otherwise takes the next events, and stores them before anything is
 * sent.
 */
async function nextClaim(): Promise<Claim | null> {
  const done: { readonly lines: number } = (await readJson('done.json')) ?? { lines: 0 };
  const begun: Claim | null = await readJson('claim.json');
  // A claim below the finished lines was paid, and interrupted before it was deleted.
  if (begun && begun.from >= done.lines) return begun;
  const lines = (await readFile(join(folder, 'events.jsonl'), 'utf8')).split('\n').filter((line) => line !== '');
  const events = lines.slice(done.lines, done.lines + EVENTS_A_BATCH).map((line): AdWatched => JSON.parse(line));
  if (events.length === 0) return null;
  const pipelines = packActions(events, {
    type: 'WATCH_AD',
    actionsOf: ({ viewer, seconds }) => [airdrop(viewer, (seconds * TOKENS_A_SECOND).toFixed(6))],
    payloadOf: (watched) => ({ watched }),
  });
  const claim = { idempotencyKey: randomUUID(), pipelines, from: done.lines, count: events.length };
  await writeWhole('claim.json', claim);
  return claim;
}

async function readJson<T>(name: string): Promise<T | null> {
  const json = await readFile(join(folder, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  return json === null ? null : JSON.parse(json);
}

/** Writes the file completely or not at all, also if the power fails. */
async function writeWhole(name: string, value: unknown): Promise<void> {
  await writeFile(join(folder, `${name}.new`), JSON.stringify(value), { flush: true });
  await rename(join(folder, `${name}.new`), join(folder, name));
}
