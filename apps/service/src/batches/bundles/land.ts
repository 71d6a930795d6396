import type { TransactionVersion } from '@flywheel/squads';
import type { Signature } from '@solana/kit';
import type { Batch, Bundle } from '../../model/batch.ts';
import { bundleIdOf } from '../../solana/block-engine.ts';
import { isBundleFailed, isBundleRejected } from '../../solana/bundles.ts';
import type { SignedTransaction } from '../../solana/transactions.ts';
import { findBundles, insertBundle, type LandedInBundle, settleBundle } from '../../store/batches/bundles.ts';
import { requireUncancelled } from '../../store/batches/cancellations.ts';
import { recordHoldUp } from '../../store/batches/executions.ts';
import { requireUnpaused } from '../../store/company/pauses.ts';
import { traced } from '../../telemetry/tracing.ts';
import { fencedTransaction, type RunDeps, type WorkerDeps } from '../deps.ts';

/** Fate of a bundle, as read from the chain. */
export type Landing =
  | { readonly state: 'landed' }
  /** The transaction at this position landed and failed. Those before it may have succeeded. */
  | { readonly state: 'failed'; readonly position: number; readonly signature: Signature; readonly err: string }
  /** At least one of its transactions can no longer land, or the block engine says so: send it again. */
  | { readonly state: 'lost' };

export interface BundleToSend {
  readonly batchId: string;
  readonly phase: Bundle['phase'];
  /** Position of the first pipeline it executes; absent in phases other than the execution. */
  readonly firstPipeline?: number;
  /** Number of pipelines that each transaction executes. */
  readonly pipelineCounts?: readonly number[];
  readonly transactions: readonly SignedTransaction[];
  readonly version: TransactionVersion;
  readonly lastValidBlockHeight: bigint;
  readonly tipLamports: bigint;
}

/**
 * Records a bundle, sends it and waits for its fate. Its row is committed before anything is sent.
 * @param onProcessed is called once a block of the node has all of its transactions, which a fork may still take away.
 * @throws Paused, Cancelled before anything is recorded or sent.
 */
export async function landBundle(
  deps: RunDeps,
  toSend: BundleToSend,
  onProcessed: () => void = () => undefined,
): Promise<Landing> {
  const { batchId, phase, transactions } = toSend;
  const attributes = {
    'flywheel.batch.id': batchId,
    'flywheel.phase': phase,
    'flywheel.transactions': transactions.length,
  };
  return traced(`bundle ${phase}`, attributes, async () => {
    const stopTimer = deps.metrics.bundleSeconds.startTimer({ phase });
    const landing = await sendBundle(deps, toSend, onProcessed);
    stopTimer({ outcome: landing.state });
    return landing;
  });
}

async function sendBundle(deps: RunDeps, toSend: BundleToSend, onProcessed: () => void): Promise<Landing> {
  const { transactions, version, firstPipeline = 0, pipelineCounts = [], ...rest } = toSend;
  const signatures = transactions.map(({ signature }) => signature);
  const newBundle = {
    ...rest,
    firstPipeline,
    pipelineCounts,
    bundleId: bundleIdOf(signatures),
    isAtomic: deps.bundles.isAtomic,
    transactions: transactions.map(({ wire }) => wire),
    signatures,
    createdAt: deps.clock.now(),
  };
  const bundle = await fencedTransaction(deps, async (trx) => {
    const { flywheelId } = deps.run;
    await requireUnpaused(trx, flywheelId);
    if (newBundle.phase === 'execution') await requireUncancelled(trx, { flywheelId, batchId: newBundle.batchId });
    return insertBundle(trx, newBundle);
  });
  return sendRecorded(deps, bundle, version, onProcessed);
}

async function sendRecorded(
  deps: RunDeps,
  bundle: Bundle,
  version: TransactionVersion,
  onProcessed: () => void,
): Promise<Landing> {
  try {
    await deps.bundles.send(bundle.transactions, bundle.lastValidBlockHeight);
  } catch (error) {
    // The chain decides, not the sender: a request may time out after the engine has accepted the bundle.
    const level = isBundleFailed(error) ? 'info' : 'warn';
    deps.log[level](
      { batchId: bundle.batchId, bundleId: bundle.bundleId, err: error },
      'the bundle was not accepted completely',
    );
    if (version === 1 && isBundleRejected(error)) {
      deps.bundles.reportVersion1('rejected');
      return { state: 'lost' };
    }
  }
  const landing = await pollBundle(deps, bundle, { trustEngine: true, onProcessed });
  // A transaction that failed on chain shows that the cluster accepts version 1.
  if (version === 1) deps.bundles.reportVersion1(landing.state === 'lost' ? 'lost' : 'landed');
  return landing;
}

/**
 * Sends the bundles of a batch that are in flight again, and follows them. A process that died may have recorded a bundle
 * without sending it, which would hold up the project until its blockhash has expired. The signatures are the same, so the
 * chain executes each transaction once.
 * @throws Paused before anything is sent.
 */
export async function resumeBundles(deps: RunDeps, { id }: Pick<Batch, 'id'>): Promise<void> {
  for (const bundle of await findBundles(deps.db, id)) {
    if (bundle.state === 'sent') await resumeBundle(deps, bundle);
  }
}

async function resumeBundle(deps: RunDeps, bundle: Bundle): Promise<Landing> {
  await deps.turn.awaitBundle(deps.bundles);
  await fencedTransaction(deps, (trx) => requireUnpaused(trx, deps.run.flywheelId));
  return deps.turn.pause(async () => {
    try {
      await deps.bundles.send(bundle.transactions, bundle.lastValidBlockHeight);
    } catch (error) {
      // It may have landed, or its blockhash may have expired: the chain says which.
      deps.log.info(
        { batchId: bundle.batchId, bundleId: bundle.bundleId, err: error },
        'a resumed bundle was not accepted',
      );
    }
    return pollBundle(deps, bundle);
  });
}

/** A local cluster lands a bundle at once, other clusters within a slot or two. The delay is at most half a slot. */
const FIRST_POLL_INTERVAL_MS = 25;
const POLL_INTERVAL_GROWTH = 1.5;
const MAX_POLL_INTERVAL_MS = 200;
/** A bundle expires after a minute or more, so that an expiry may be seen a second later. */
const POLLS_PER_BLOCK = 5;
/** About one status request a second: engines limit requests, and the status only shortens the wait. */
const POLLS_PER_ENGINE_STATUS = 7;
/** An engine may be wrong about the newest block, so its failure must be reported twice. */
const MIN_ENGINE_FAILURES = 2;

/** Waits for the fate of a sent bundle while other jobs work. */
export function followBundle(deps: RunDeps, bundle: Bundle): Promise<Landing> {
  return deps.turn.pause(() => pollBundle(deps, bundle));
}

/**
 * Waits until every transaction of a sent bundle has landed, one has failed, or the rest can no longer land. With
 * `trustEngine` the wait also ends when the block engine reports a failure. Sending again is safe then, because the chain
 * refuses a repetition; the bundle stays `sent`, because it may still land.
 */
async function pollBundle(
  deps: RunDeps,
  bundle: Bundle,
  { trustEngine = false, onProcessed }: { readonly trustEngine?: boolean; readonly onProcessed?: () => void } = {},
): Promise<Landing> {
  const { chain, clock, signal } = deps;
  const signatures = bundle.signatures as readonly Signature[];
  const slowAtMs = clock.now().getTime() + SLOW_MS;
  let isSlowReported = false;
  let engineFailures = 0;
  let isAskingEngine = false;
  for (let polls = 1; ; polls += 1) {
    signal.throwIfAborted();
    // The block first: a node that has passed it knows everything that landed up to its height.
    const finalized = (polls - 1) % POLLS_PER_BLOCK === 0 ? await chain.finalizedBlock() : null;
    const { contextSlot, outcomes } = await chain.signatureOutcomes(signatures);
    const confirmed = outcomes.map((outcome) => outcome !== 'unknown' && outcome.confirmation !== 'processed');
    const slots = outcomes.flatMap((outcome, i) => (confirmed[i] && outcome !== 'unknown' ? [outcome.slot] : []));
    const landed = {
      signatures: signatures.filter((_, i) => confirmed[i] && errorOf(outcomes[i]) === null),
      slot: slots.reduce<bigint | null>((last, slot) => (last === null || slot > last ? slot : last), null),
    };
    const position = outcomes.findIndex((outcome, i) => confirmed[i] && errorOf(outcome) !== null);
    if (landed.signatures.length === signatures.length) return settle(deps, bundle, landed, { state: 'landed' });
    if (outcomes.every((outcome) => outcome !== 'unknown' && outcome.err === null)) onProcessed?.();
    const signature = signatures[position];
    if (signature !== undefined) {
      const err = errorOf(outcomes[position]) ?? '';
      return settle(deps, bundle, landed, { state: 'failed', position, signature, err });
    }
    const isExpired =
      finalized !== null && finalized.blockHeight > bundle.lastValidBlockHeight && contextSlot >= finalized.slot;
    if (isExpired) return settle(deps, bundle, landed, { state: 'lost' });
    if (engineFailures >= MIN_ENGINE_FAILURES) return { state: 'lost' };
    if (trustEngine && polls % POLLS_PER_ENGINE_STATUS === 0 && !isAskingEngine) {
      isAskingEngine = true;
      // Its turn may come late, while the chain is read on.
      void engineStatus(deps, bundle).then((status) => {
        if (status === 'failed') engineFailures += 1;
        isAskingEngine = false;
      });
    }
    if (bundle.phase !== 'execution' && !isSlowReported && clock.now().getTime() >= slowAtMs) {
      await reportSlow(deps, bundle);
      isSlowReported = true;
    }
    await clock.sleep(
      Math.min(MAX_POLL_INTERVAL_MS, FIRST_POLL_INTERVAL_MS * POLL_INTERVAL_GROWTH ** (polls - 1)),
      signal,
    );
  }
}

/** A bundle lands within seconds, or when its blockhash has expired, after a minute or more, it is known to be lost. */
const SLOW_MS = 15_000;

/** Shows that a setup waits for a bundle: on its batch, or on those behind one whose index is burned or that is closed. */
async function reportSlow(deps: RunDeps, { batchId, bundleId }: Bundle): Promise<void> {
  const reason = 'the cluster has not taken its transactions yet. They are sent again once they can no longer land.';
  const issue = { code: 'ERR_BATCH_EXECUTE_FAILED', context: undefined, reason } as const;
  await fencedTransaction(deps, (trx) => recordHoldUp(trx, batchId, issue, deps.clock.now()));
  deps.log.warn({ batchId, bundleId, afterMs: SLOW_MS }, 'a bundle of a setup has not landed yet');
}

/** Waits for the fate of every bundle of a batch that is still in flight. */
export async function settleBundles(deps: RunDeps, { id }: Pick<Batch, 'id'>): Promise<void> {
  for (const bundle of await findBundles(deps.db, id)) {
    if (bundle.state === 'sent') await followBundle(deps, bundle);
  }
}

function errorOf(outcome: 'unknown' | { readonly err: string | null } | undefined): string | null {
  return outcome === undefined || outcome === 'unknown' ? null : outcome.err;
}

async function settle(deps: RunDeps, bundle: Bundle, landed: LandedInBundle, landing: Landing): Promise<Landing> {
  const state = landing.state === 'landed' ? 'landed' : 'failed';
  const { phase } = bundle;
  const isFirst = await fencedTransaction(deps, (trx) => settleBundle(trx, bundle.id, state, landed, deps.clock.now()));
  if (isFirst) {
    deps.metrics.bundlesSettled.inc({ phase, outcome: landing.state });
    if (landing.state === 'landed') deps.metrics.tipLamports.inc({ phase }, Number(bundle.tipLamports));
  }
  return landing;
}

/** Reads the engine's status. It only shortens the wait, so an unreachable engine counts as pending. */
async function engineStatus({ bundles, log }: WorkerDeps, bundle: Bundle): Promise<'pending' | 'landed' | 'failed'> {
  try {
    return await bundles.status(bundle.bundleId);
  } catch (error) {
    log.warn({ bundleId: bundle.bundleId, err: error }, 'the status of a bundle cannot be read');
    return 'pending';
  }
}
