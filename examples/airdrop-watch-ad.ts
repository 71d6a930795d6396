// A queue worker: pays what viewers have earned, one batch at a time, and resumes after any interruption.
// FLYWHEEL_API_KEY=… npx node examples/airdrop-watch-ad.ts queue-folder wallet.json
// The folder holds events.jsonl, one line for each ad watched: {"adId":"ad-7731","viewer":"12Zg…","seconds":30}
// A line that cannot be paid never stops the others: it goes to state.json, under `aside`, with the reason.
import { randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { airdrop, createFlywheelClient, isFlywheelError, packActions, runBatch } from '@flywheel/sdk';
import { createKeyPairSignerFromBytes, isAddress } from '@solana/kit';

interface AdWatched {
  readonly adId: string;
  readonly viewer: string;
  readonly seconds: number;
}

/** Everything that survives an interruption. */
interface State {
  /** Lines of the queue that are in no later claim. */
  readonly lines: number;
  /** Events in progress. The key makes them one batch, however often they are sent. */
  readonly claim: { readonly idempotencyKey: string; readonly events: readonly AdWatched[] } | null;
  /** For a person to decide. */
  readonly aside: readonly { readonly event: unknown; readonly reason: string }[];
}

const EVENTS_A_BATCH = 100;
const TOKENS_A_SECOND = 0.05;

const [folder = '.', walletFile = 'wallet.json'] = process.argv.slice(2);
const { FLYWHEEL_URL: url = 'http://127.0.0.1:4000', FLYWHEEL_API_KEY: apiKey = '' } = process.env;
const { SOLANA_RPC_URL: rpcUrls = 'http://127.0.0.1:8899' } = process.env;
const wallet = await createKeyPairSignerFromBytes(Uint8Array.from(JSON.parse(await readFile(walletFile, 'utf8'))));
const client = createFlywheelClient({ url, apiKey });

for (let state = await readState(); ; await writeState(state)) {
  if (state.claim === null) {
    const next = await claimNext(state);
    if (next === null) break;
    state = next;
  } else {
    const { left, bad, problem } = await pay(state.claim);
    const aside = left.flatMap((event) =>
      bad.has(event.viewer) ? [{ event, reason: bad.get(event.viewer) ?? '' }] : [],
    );
    const events = left.filter(({ viewer }) => !bad.has(viewer));
    const claim = events.length === 0 ? null : { idempotencyKey: randomUUID(), events };
    state = { ...state, claim, aside: [...state.aside, ...aside] };
    if (problem === null) continue;
    // The next start sends the rest under a new key.
    await writeState(state);
    throw new Error(problem);
  }
}

/** Pays events as one batch. `left` are those that were not paid, `bad` the viewers whose accounts cannot be paid now. */
async function pay({ idempotencyKey, events }: NonNullable<State['claim']>): Promise<{
  readonly left: readonly AdWatched[];
  readonly bad: ReadonlyMap<string, string>;
  readonly problem: string | null;
}> {
  const pipelines = packActions(events, {
    type: 'WATCH_AD',
    actionsOf: ({ viewer, seconds }) => [airdrop(viewer, tokensOf(seconds))],
    payloadOf: (watched) => ({ watched }),
  });
  try {
    const batch = await runBatch(client, pipelines, { wallet, verify: { rpcUrl: rpcUrls.split(',') }, idempotencyKey });
    process.stdout.write(`${JSON.stringify({ batchId: batch.id, status: batch.status, events: events.length })}\n`);
    const { totalSuccessful = 0, failedRecipient, failedTxMsg } = batch.executeResult ?? {};
    // Squads executes in order, so the first pipelines are paid. An event is one action of its pipeline.
    const paid = pipelines.slice(0, totalSuccessful).reduce((sum, { actions }) => sum + actions.length, 0);
    if (batch.status === 'EXECUTED') return { left: [], bad: new Map(), problem: null };
    const bad = new Map(failedRecipient && [[failedRecipient.recipient, failedRecipient.reason]]);
    return { left: events.slice(paid), bad, problem: failedRecipient ? null : `Batch ${batch.id}: ${failedTxMsg}` };
  } catch (error) {
    // Nothing was sent. Without a recipient to leave out, the same batch is resumed at the next start.
    const bad = new Map(
      (isFlywheelError(error) ? error.problems : []).flatMap(({ recipient, message }) =>
        recipient === undefined ? [] : [[recipient, message] as const],
      ),
    );
    if (bad.size === 0) throw error;
    if (isFlywheelError(error) && error.batchId !== null) await client.cancelBatch(error.batchId);
    return { left: events, bad, problem: null };
  }
}

/** Takes the next lines of the queue; null when there are none. They are written down before anything is sent. */
async function claimNext(state: State): Promise<State | null> {
  const lines = (await readFile(join(folder, 'events.jsonl'), 'utf8')).split('\n').filter((line) => line !== '');
  const taken = lines.slice(state.lines, state.lines + EVENTS_A_BATCH);
  if (taken.length === 0) return null;
  const read = taken.map(readEvent);
  const events = read.flatMap((each) => ('event' in each ? [each.event] : []));
  const aside = read.flatMap((each) => ('reason' in each ? [{ event: each.line, reason: each.reason }] : []));
  return {
    lines: state.lines + taken.length,
    claim: events.length === 0 ? null : { idempotencyKey: randomUUID(), events },
    aside: [...state.aside, ...aside],
  };
}

function readEvent(line: string): { readonly event: AdWatched } | { readonly line: string; readonly reason: string } {
  try {
    const { adId, viewer, seconds }: Partial<AdWatched> = JSON.parse(line) ?? {};
    if (typeof adId !== 'string') return { line, reason: 'adId is not a text.' };
    if (typeof viewer !== 'string' || !isAddress(viewer)) return { line, reason: 'viewer is not an address.' };
    if (typeof seconds !== 'number') return { line, reason: 'seconds is not a number.' };
    airdrop(viewer, tokensOf(seconds));
    return { event: { adId, viewer, seconds } };
  } catch (error) {
    return { line, reason: String(error) };
  }
}

function tokensOf(seconds: number): string {
  return (seconds * TOKENS_A_SECOND).toFixed(6);
}

async function readState(): Promise<State> {
  try {
    return JSON.parse(await readFile(join(folder, 'state.json'), 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      return { lines: 0, claim: null, aside: [] };
    throw error;
  }
}

/** The file is replaced as a whole, so that a power failure leaves the old or the new one. */
async function writeState(state: State): Promise<void> {
  await writeFile(join(folder, 'state.json.new'), JSON.stringify(state), { flush: true });
  await rename(join(folder, 'state.json.new'), join(folder, 'state.json'));
}
