import type { Bundle } from '../../model/batch.ts';
import type { BundleStatus } from '../../solana/block-engine.ts';
import { requireUncancelled } from '../../store/batches/cancellations.ts';
import { requireUnpaused } from '../../store/company/pauses.ts';
import type { Db } from '../../store/db.ts';
import { fencedTransaction, type RunDeps, type WorkerDeps } from '../deps.ts';

/** About one status request a second: engines limit requests, and the status only shortens the wait. */
const POLLS_PER_STATUS = 7;
/** An engine may be wrong about the newest block, so its failure must be reported twice. */
const MIN_FAILURES = 2;
/** Most bundles are in a block by then. Each repetition takes a request, so the time doubles with each. */
const FIRST_REPETITION_MS = 2_000;

/** Looks after a sent bundle at the block engine, while its fate is read from the chain. */
export interface EngineWatch {
  /** Must be called once a poll. On some polls it asks the engine, without waiting for the answer. */
  poll(isProcessed: boolean): void;
  /** True once the engine has reported that the bundle failed. */
  hasFailed(): boolean;
  stop(): void;
}

/**
 * Watches a bundle, and sends it again if the engine has forgotten it, or if the engine cannot be asked because other bundles
 * wait for its requests (docs/decisions/0094). The row of the bundle and its signatures stay the same, so that the chain
 * executes each transaction once.
 */
export function watchEngine(deps: RunDeps, bundle: Bundle): EngineWatch {
  const { clock, signal } = deps;
  const stopping = new AbortController();
  const watchDeps = { ...deps, signal: AbortSignal.any([signal, stopping.signal]) };
  let [polls, failures] = [0, 0];
  let isAsking = false;
  let intervalMs = FIRST_REPETITION_MS;
  let repeatAtMs = clock.now().getTime() + intervalMs;
  const ask = async () => {
    const status = await readStatus(deps, bundle);
    if (status === 'failed') failures += 1;
    const isDue = clock.now().getTime() >= repeatAtMs;
    if (status !== 'unknown' && !(status === 'unasked' && isDue)) return;
    await sendAgain(watchDeps, bundle);
    intervalMs *= 2;
    repeatAtMs = clock.now().getTime() + intervalMs;
  };
  return {
    poll: (isProcessed) => {
      polls += 1;
      if (isProcessed || isAsking || polls % POLLS_PER_STATUS !== 0) return;
      isAsking = true;
      // Its turn may come late, while the chain is read on.
      void ask().finally(() => {
        isAsking = false;
      });
    },
    hasFailed: () => failures >= MIN_FAILURES,
    stop: () => stopping.abort(),
  };
}

/**
 * Requires that a bundle may be sent now.
 * @throws Paused, Cancelled
 */
export async function requireSendable(trx: Db, { run }: RunDeps, { phase, batchId }: SentFor): Promise<void> {
  await requireUnpaused(trx, run.flywheelId);
  if (phase === 'execution') await requireUncancelled(trx, { flywheelId: run.flywheelId, batchId });
}

type SentFor = Pick<Bundle, 'phase' | 'batchId'>;

/** Reads the engine's status. It only shortens the wait, so an unreachable engine counts as pending. */
async function readStatus({ bundles, log }: WorkerDeps, bundle: Bundle): Promise<BundleStatus> {
  try {
    return await bundles.status(bundle.bundleId);
  } catch (error) {
    log.warn({ bundleId: bundle.bundleId, err: error }, 'the status of a bundle cannot be read');
    return 'pending';
  }
}

/** Sends a bundle as it was, in the turn of its project. */
async function sendAgain(deps: RunDeps, bundle: Bundle): Promise<void> {
  const { batchId, bundleId } = bundle;
  try {
    await deps.turn.awaitRepetition(deps.bundles, deps.signal);
    await fencedTransaction(deps, (trx) => requireSendable(trx, deps, bundle));
    deps.signal.throwIfAborted();
    await deps.bundles.send(bundle.transactions, bundle.lastValidBlockHeight);
    deps.log.info({ batchId, bundleId }, 'a bundle that has not landed was sent again');
  } catch (error) {
    // It may have landed by now, or may not be sent any more: the chain says which.
    if (!deps.signal.aborted) deps.log.info({ batchId, bundleId, err: error }, 'a bundle was not sent again');
  }
}
