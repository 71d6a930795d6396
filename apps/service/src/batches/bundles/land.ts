import type { Base64EncodedWireTransaction, Signature } from '@solana/kit';
import type { Batch, Bundle } from '../../model/batch.ts';
import type { TransactionVersion } from '../../model/transaction-version.ts';
import { bundleIdOf, isBundleRefused, isBundleRejected } from '../../solana/bundles.ts';
import type { SignedTransaction } from '../../solana/transactions.ts';
import { requireUnpaused } from '../../store/company/pauses.ts';
import { findBundles, insertBundle, settleBundle } from '../../store/landing/bundles.ts';
import { bundleSeconds, bundlesSettled, tipLamports } from '../../telemetry/metrics.ts';
import { traced } from '../../telemetry/tracing.ts';
import type { WorkerDeps } from '../deps.ts';
import { fencedTransaction, type RunDeps } from '../deps.ts';

/** What became of a bundle, by the chain’s own word. */
export type Landing =
  | { readonly state: 'landed' }
  /** A transaction landed and failed, at this position in the bundle; those before it may have landed well. */
  | { readonly state: 'failed'; readonly position: number; readonly err: string }
  /** It, or the rest of it, can never land any more; or the engine says so, and it is worth sending again. */
  | { readonly state: 'lost' };

export interface BundleToSend {
  readonly batchId: string;
  readonly phase: Bundle['phase'];
  /** Those of its transactions that execute pipelines; none do in the other phases. */
  readonly firstPipeline?: number;
  readonly pipelineCounts?: readonly number[];
  readonly transactions: readonly SignedTransaction[];
  readonly version: TransactionVersion;
  readonly lastValidBlockHeight: bigint;
  readonly tipLamports: bigint;
}

/**
 * Records a bundle, sends it and follows it to its end. The row is committed before the first byte leaves.
 * @throws Paused, and nothing is recorded or sent.
 */
export async function landBundle(deps: RunDeps, toSend: BundleToSend): Promise<Landing> {
  const { batchId, phase, transactions } = toSend;
  const attributes = {
    'flywheel.batch.id': batchId,
    'flywheel.phase': phase,
    'flywheel.transactions': transactions.length,
  };
  return traced(`bundle ${phase}`, attributes, async () => {
    const stopTimer = bundleSeconds.startTimer({ phase });
    const landing = await sendBundle(deps, toSend);
    stopTimer({ outcome: landing.state });
    return landing;
  });
}

async function sendBundle(deps: RunDeps, toSend: BundleToSend): Promise<Landing> {
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
    await requireUnpaused(trx, deps.run.flywheelId);
    return insertBundle(trx, newBundle);
  });
  try {
    await deps.bundles.send(bundle.transactions as readonly Base64EncodedWireTransaction[]);
  } catch (error) {
    // Whatever the sender says, the chain decides: a request may time out after the bundle was taken.
    const level = isBundleRejected(error) ? 'info' : 'warn';
    deps.log[level]({ batchId: bundle.batchId, bundleId: bundle.bundleId, err: error }, 'bundle not accepted whole');
    if (version === 1 && isBundleRefused(error)) {
      deps.bundles.reportVersion1('refused');
      return { state: 'lost' };
    }
  }
  const landing = await followBundle(deps, bundle, { believeEngine: true });
  // That a transaction failed says that the version is taken.
  if (version === 1) deps.bundles.reportVersion1(landing.state === 'lost' ? 'lost' : 'landed');
  return landing;
}

/** A local cluster lands a bundle at once; elsewhere it takes a slot or two, and is seen at most half a slot late. */
const FIRST_POLL_INTERVAL_MS = 25;
const MAX_POLL_INTERVAL_MS = 200;
/** Once a second or so: an engine counts requests, and its word only shortens the wait. */
const POLLS_PER_ENGINE_STATUS = 7;
/** An engine may be wrong about a block just made: the chain gets a second look. */
const ENGINE_FAILURES_BELIEVED = 2;

/**
 * Waits until every transaction of a sent bundle has landed, one has failed, or none can land any more. With
 * `believeEngine` an engine that has given it up ends the wait as well: that is reason enough to send again, for the
 * chain refuses what it has executed, but the bundle stays `sent`, since it may land all the same.
 */
export async function followBundle(
  deps: RunDeps,
  bundle: Bundle,
  { believeEngine = false }: { readonly believeEngine?: boolean } = {},
): Promise<Landing> {
  const { chain, clock, signal } = deps;
  const signatures = bundle.signatures as readonly Signature[];
  let engineFailures = 0;
  for (let polls = 1; ; polls += 1) {
    signal.throwIfAborted();
    // The height first: a transaction not seen after a height past its last valid one was read can never land.
    const blockHeight = await chain.blockHeight();
    const outcomes = await chain.signatureOutcomes(signatures);
    const confirmed = outcomes.map((outcome) => outcome !== 'unknown' && outcome.confirmation !== 'processed');
    const landed = signatures.filter((_, i) => confirmed[i] && errorOf(outcomes[i]) === null);
    const position = outcomes.findIndex((outcome, i) => confirmed[i] && errorOf(outcome) !== null);
    if (landed.length === signatures.length) return settle(deps, bundle, landed, { state: 'landed' });
    if (position >= 0) {
      return settle(deps, bundle, landed, { state: 'failed', position, err: errorOf(outcomes[position]) ?? '' });
    }
    if (blockHeight > bundle.lastValidBlockHeight) return settle(deps, bundle, landed, { state: 'lost' });
    if (believeEngine && polls % POLLS_PER_ENGINE_STATUS === 0 && (await engineStatus(deps, bundle)) === 'failed') {
      engineFailures += 1;
      if (engineFailures === ENGINE_FAILURES_BELIEVED) return { state: 'lost' };
    }
    await clock.sleep(Math.min(MAX_POLL_INTERVAL_MS, FIRST_POLL_INTERVAL_MS * 2 ** (polls - 1)), signal);
  }
}

/** Follows every bundle of a batch that is still in flight until it has landed or never can. */
export async function settleBundles(deps: RunDeps, { id }: Pick<Batch, 'id'>): Promise<void> {
  for (const bundle of await findBundles(deps.db, id)) {
    if (bundle.state === 'sent') await followBundle(deps, bundle);
  }
}

function errorOf(outcome: 'unknown' | { readonly err: string | null } | undefined): string | null {
  return outcome === undefined || outcome === 'unknown' ? null : outcome.err;
}

async function settle(deps: RunDeps, bundle: Bundle, landed: readonly Signature[], landing: Landing): Promise<Landing> {
  const state = landing.state === 'landed' ? 'landed' : 'failed';
  const { phase } = bundle;
  const isFirst = await fencedTransaction(deps, (trx) => settleBundle(trx, bundle.id, state, landed, deps.clock.now()));
  if (isFirst) {
    bundlesSettled.inc({ phase, outcome: landing.state });
    if (landing.state === 'landed') tipLamports.inc({ phase }, Number(bundle.tipLamports));
  }
  return landing;
}

/** Only a hint that shortens the wait: an engine out of reach is no reason to stop following the chain. */
async function engineStatus({ bundles, log }: WorkerDeps, bundle: Bundle): Promise<'pending' | 'landed' | 'failed'> {
  try {
    return await bundles.status(bundle.bundleId);
  } catch (error) {
    log.warn({ bundleId: bundle.bundleId, err: error }, 'bundle status not readable');
    return 'pending';
  }
}
