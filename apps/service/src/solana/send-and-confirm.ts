import type { Base64EncodedWireTransaction } from '@solana/kit';
import type { Clock } from '../model/clock.ts';
import type { Chain, LandedSignature } from './chain.ts';

export interface ConfirmDeps {
  readonly chain: Chain;
  readonly clock: Pick<Clock, 'sleep'>;
  /** Aborts the wait. The transaction may still land. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends a transaction and waits until it is confirmed, whether it succeeds or fails. With `until: 'processed'` the wait
 * ends when the node's newest block contains it; a fork may still remove that block.
 * @throws Error if it has not landed by the given block height, or if the chain has stopped.
 */
export async function sendAndConfirm(
  { chain, clock, signal }: ConfirmDeps,
  transaction: Base64EncodedWireTransaction,
  lastValidBlockHeight: bigint,
  { until = 'confirmed' }: { readonly until?: 'processed' | 'confirmed' } = {},
): Promise<LandedSignature> {
  const signature = await chain.send(transaction);
  const view = chain.view();
  let sentMsAgo = 0;
  for (let polls = 0; polls < MAX_POLLS; polls += 1) {
    // Before the statuses, as `hasExpired` needs it.
    const finalized = readsBlock(polls) ? await view.finalizedBlock() : null;
    const { contextSlot, outcomes } = await view.signatureOutcomes([signature]);
    const [outcome = 'unknown'] = outcomes;
    if (outcome !== 'unknown' && (until === 'processed' || outcome.confirmation !== 'processed')) return outcome;
    if (outcome === 'unknown' && finalized !== null && hasExpired(finalized, contextSlot, lastValidBlockHeight)) {
      throw new Error(`${signature} had not landed by block height ${lastValidBlockHeight}.`);
    }
    const intervalMs = pollIntervalMs(polls, MAX_POLL_INTERVAL_MS);
    await clock.sleep(intervalMs, signal);
    sentMsAgo += intervalMs;
    if (sentMsAgo < RESEND_MS || outcome !== 'unknown') continue;
    // A node loses transactions that it could not forward, for instance when it restarts.
    await chain.send(transaction);
    sentMsAgo = 0;
  }
  throw new Error(`${signature} was not confirmed after ${MAX_POLLS} polls.`);
}

const MAX_POLL_INTERVAL_MS = 400;
/** The node itself sends as often. */
const RESEND_MS = 2_000;
/** Five minutes, while a blockhash lives for one: after that the cluster has halted or forked. */
const MAX_POLLS = 750;

/**
 * Returns true if a transaction that the node did not know can no longer land.
 * @param finalized a finalized block, read before the transaction was looked up: a node that has passed its slot knows
 * everything that landed up to its height.
 * @param contextSlot of the answer that does not know the transaction.
 */
export function hasExpired(
  { blockHeight, slot }: { readonly blockHeight: bigint; readonly slot: bigint },
  contextSlot: bigint,
  lastValidBlockHeight: bigint,
): boolean {
  return blockHeight > lastValidBlockHeight && contextSlot >= slot;
}

/** An expiry takes a minute, so that it may be seen a second or two later. Most transactions land before the first such poll. */
const POLLS_PER_BLOCK = 5;

/** Returns true if a poll, the first of which is number 0, reads the finalized block too, which `hasExpired` needs. */
export function readsBlock(polls: number): boolean {
  return polls % POLLS_PER_BLOCK === POLLS_PER_BLOCK - 1;
}

/** Computes the pause after a poll, the first of which is number 0. A wait is at most half as long again as it must be. */
export function pollIntervalMs(polls: number, maxMs: number): number {
  return Math.min(maxMs, FIRST_POLL_INTERVAL_MS * POLL_INTERVAL_GROWTH ** polls);
}

/** A local cluster has a transaction at once, others within a slot or two. */
const FIRST_POLL_INTERVAL_MS = 25;
const POLL_INTERVAL_GROWTH = 1.5;
