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
 * Sends a transaction and waits until it is confirmed, whether it succeeds or fails.
 * @throws Error if it has not landed by the given block height, or if the chain has stopped.
 */
export async function sendAndConfirm(
  { chain, clock, signal }: ConfirmDeps,
  transaction: Base64EncodedWireTransaction,
  lastValidBlockHeight: bigint,
): Promise<LandedSignature> {
  const signature = await chain.send(transaction);
  const view = chain.view();
  for (let polls = 1; polls <= MAX_POLLS; polls += 1) {
    // The block first: a node that has passed it knows everything that landed up to its height.
    const finalized = await view.finalizedBlock();
    const { contextSlot, outcomes } = await view.signatureOutcomes([signature]);
    const [outcome = 'unknown'] = outcomes;
    if (outcome !== 'unknown' && outcome.confirmation !== 'processed') return outcome;
    if (finalized.blockHeight > lastValidBlockHeight && contextSlot >= finalized.slot && outcome === 'unknown') {
      throw new Error(`${signature} had not landed by block height ${lastValidBlockHeight}.`);
    }
    await clock.sleep(Math.min(MAX_POLL_INTERVAL_MS, FIRST_POLL_INTERVAL_MS * 2 ** (polls - 1)), signal);
    // A node loses transactions that it could not forward, for instance when it restarts.
    if (polls % POLLS_PER_RESEND === 0) await chain.send(transaction);
  }
  throw new Error(`${signature} was not confirmed after ${MAX_POLLS} polls.`);
}

/** A local cluster confirms at once, others within a slot or two; more frequent requests would be wasted. */
const FIRST_POLL_INTERVAL_MS = 50;
const MAX_POLL_INTERVAL_MS = 400;
/** Every two seconds, as the node itself does. */
const POLLS_PER_RESEND = 5;
/** Five minutes, while a blockhash lives for one: after that the cluster has halted or forked. */
const MAX_POLLS = 750;
