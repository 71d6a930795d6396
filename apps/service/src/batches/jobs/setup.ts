import { isDeepStrictEqual } from 'node:util';
import { SOL_DECIMALS, toDecimal } from '@flywheel/protocol';
import { decodeBatch, decodeMultisig, decodeProposal, planTransactions } from '@flywheel/squads';
import { type Batch, heldUp } from '../../model/batch.ts';
import { isOperatorLost, type Multisig, type Project } from '../../model/project.ts';
import type { DecisiveCommitment } from '../../solana/floor.ts';
import { burnIndexGroup, type SetupCursor, setupGroups } from '../../squads/groups.ts';
import { accountSizes } from '../../squads/rent.ts';
import { isRotation, rotationSetupGroup } from '../../squads/rotation.ts';
import { finalizeBatch, findBatch, findIdsToSetUp } from '../../store/batches/batches.ts';
import { findBundles } from '../../store/batches/bundles.ts';
import { Ended, findDeadIndices, isEndFinalized, markClosed, raiseBatchIndex } from '../../store/batches/ends.ts';
import { hasExecutionBegun, isExecutionRequested, recordHoldUp } from '../../store/batches/executions.ts';
import { setExposure } from '../../store/batches/exposure.ts';
import type { Db } from '../../store/db.ts';
import { findSetupError, isSetUpBeyondCaps } from '../admission.ts';
import { operatorLimits } from '../bundles/assemble-bundle.ts';
import { landPlanned } from '../bundles/flight.ts';
import { type Landing, resumeBundles, settleBundles } from '../bundles/land.ts';
import { initResultOf } from '../bundles/results.ts';
import { findMismatchedPipeline } from '../check/mismatches.ts';
import { fencedTransaction, type RunDeps } from '../deps.ts';
import { boundExposure } from '../exposure.ts';
import { recordSetup } from '../terms.ts';
import { chargeEarly } from './complete-ledger.ts';
import { end, endUnadmitted } from './end.ts';
import { awaitFinality } from './finality.ts';
import { isOfOtherKind, readBatchAccounts } from './progress.ts';

/**
 * Job `setup`: creates a batch on chain, after all earlier ones of its multisig, because Squads accepts indices in order
 * only. It continues from the chain's state, so it may be repeated at any time.
 */
export async function setUpBatch(deps: RunDeps, project: Project, batch: Batch): Promise<void> {
  const { multisig } = project.flywheel;
  if (await isSetUpForGood(deps, multisig, batch)) return chargeEarly(deps, multisig, batch);
  const reachedIndex = await readTransactionIndex(deps, multisig);
  const range = { upToIndex: batch.batchIndex, reachedIndex };
  const missing = await findIdsToSetUp(deps.db, batch.flywheelId, range);
  // A fork may have taken away only a part of a setup that was complete. Nothing is set up again after a final end.
  const wasSetUp = batch.status !== 'AVAILABLE_TO_QUEUE' && !(await isEndFinalized(deps.db, batch.id));
  const isAgain = wasSetUp && !missing.includes(batch.id);
  const ids = isAgain ? [...missing, batch.id] : missing;
  const hasBegun = await hasExecutionBegun(deps.db, batch.id);
  for (const id of ids) {
    // One at a time: each may have thousands of pipelines, and the first may hold up the others.
    const next = id === batch.id ? batch : await findBatch(deps.db, id);
    if (!next) throw new Error(`Batch ${id} disappeared while those of its multisig were set up.`);
    if (await endUnadmitted(deps, project, next)) continue;
    const shortLamports = await burnDeadIndices(deps, multisig, next);
    if (shortLamports > 0n) {
      return retryLater(deps, multisig, { batch, next }, { shortLamports: String(shortLamports) });
    }
    // An HTTP process has written what the batch counts for.
    await setExposure(deps.db, next.id, await boundExposure(deps.prices, multisig, next));
    // A withdrawal, a rotation and an execution that a fork has undone go on, and with them the batches before them.
    const isFree = hasBegun || isSetUpBeyondCaps(batch) || isSetUpBeyondCaps(next);
    const blocker = await setUpOne(deps, project, next, { isFree }).catch((error) => unlessEnded(deps, next, error));
    if (blocker !== null) return retryLater(deps, multisig, { batch, next }, blocker);
  }
}

/** A batch may end while it is set up, as when a client cancels it: then those behind it go on. */
function unlessEnded({ log }: RunDeps, { id: batchId }: Batch, error: unknown): null {
  if (!(error instanceof Ended)) throw error;
  log.info({ batchId }, error.message);
  return null;
}

/** Returns true if no fork can take the setup of a batch away, so that nothing of it is missing. */
async function isSetUpForGood(deps: RunDeps, multisig: Multisig, batch: Batch): Promise<boolean> {
  if (batch.status === 'AVAILABLE_TO_QUEUE') return false;
  const { transactionIndex } = await readBatchAccounts(deps, multisig, batch, 'finalized');
  if (transactionIndex < batch.batchIndex) return false;
  return (await readSetupCursor(deps, multisig, batch, 'finalized')) === 'finished';
}

/** Reason outside of the batch why it cannot be set up now. */
type SetupBlocker =
  | { readonly shortLamports: string }
  | { readonly lostLandings: number }
  | { readonly cap: string }
  | { readonly history: 'incomplete' };

function describeBlocker(blocker: SetupBlocker): string {
  if ('shortLamports' in blocker) {
    return `the operator of the service lacks ${toDecimal(BigInt(blocker.shortLamports), SOL_DECIMALS)} SOL.`;
  }
  if ('cap' in blocker) return blocker.cap;
  if ('lostLandings' in blocker) return `${blocker.lostLandings} bundles in a row did not land.`;
  return 'the cluster’s nodes do not have its whole history.';
}

/** After this many failures on chain in a row at the same place, the cause is in the batch. */
const MAX_FAILED_LANDINGS = 3;
/** After this many lost bundles in a row, each with twice the tip, the job is retried later. */
const MAX_LOST_LANDINGS = 4;

/**
 * Sets up one batch. Returns null when it is on chain or has ended.
 * @param isFree true if no cap stops it.
 */
async function setUpOne(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  { isFree }: { readonly isFree: boolean },
): Promise<SetupBlocker | null> {
  await resumeBundles(deps, batch, 'setup');
  const { multisig } = project.flywheel;
  let failedLandings = 0;
  let failedAt: SetupCursor | null = null;
  let lostLandings = 0;
  let cursor = await readSetupCursor(deps, multisig, batch);
  // After the chain has shown that the index is next or used: rows may name indices of later days.
  const error = await fencedTransaction(deps, async (trx) => {
    const found = isFree ? null : await findSetupError(deps, trx, project, batch);
    if (found === null) await recordSetup(deps, trx, project, batch);
    return found;
  });
  if (error !== null) return { cap: error.message };
  for (; ; cursor = await readSetupCursor(deps, multisig, batch)) {
    if (cursor === 'finished') {
      await finalize(deps, multisig, batch);
      return null;
    }
    if (cursor === 'taken' || cursor === 'gone') {
      const final = await awaitFinality(deps, multisig, batch);
      if (final === 'incomplete') return { history: final };
      if (final.status === 'Closed') return endClosed(deps, project, batch, final.executed);
      if ((await readSetupCursor(deps, multisig, batch, 'finalized')) !== cursor) continue;
      await skipUsedIndices(deps, multisig, batch);
      return failSetup(deps, project, batch, `Index ${batch.batchIndex} was taken by another transaction.`);
    }
    // The batch and its draft come first.
    const missing = (await accountSizes(multisig, batch)).slice(cursor.isCreated ? 2 + cursor.size : 0);
    const shortLamports = await operatorShortage(deps, multisig, missing);
    if (shortLamports > 0n) return { shortLamports: String(shortLamports) };
    const landing = await landMissing(deps, multisig, batch, cursor, lostLandings + failedLandings);
    if (landing.state === 'landed') continue;
    if (landing.state === 'lost') {
      lostLandings += 1;
      if (lostLandings >= MAX_LOST_LANDINGS) {
        await chargeEarly(deps, multisig, batch);
        return { lostLandings };
      }
      continue;
    }
    const failure = landing.err;
    // A setup that has advanced since failed as a repetition: a bundle that was given up has landed.
    failedLandings = isDeepStrictEqual(cursor, failedAt) ? failedLandings + 1 : 1;
    failedAt = cursor;
    deps.log.warn({ batchId: batch.id, failedLandings, failure }, 'setup transaction failed on chain');
    if (failedLandings < MAX_FAILED_LANDINGS) continue;
    const final = await awaitFinality(deps, multisig, batch);
    if (final === 'incomplete') return { history: final };
    if (final.status === 'Absent' || final.status === 'Draft') return failSetup(deps, project, batch, failure);
    failedLandings = 0;
  }
}

/**
 * Setups pause below this balance of the operator: a few thousand transaction fees, kept for the batches that are open
 * already.
 */
export const OPERATOR_RESERVE_LAMPORTS = 10_000_000n;

/**
 * Computes the lamports that the operator lacks for the rent of accounts that are not created yet, and its reserve; 0 or
 * less when it has enough.
 * @param missing has their sizes in bytes.
 */
async function operatorShortage(
  { chain }: RunDeps,
  { operator }: Multisig,
  missing: readonly number[],
): Promise<bigint> {
  const rents = await Promise.all(missing.map((bytes) => chain.minimumBalanceForRentExemption(bytes)));
  const neededLamports = rents.reduce((sum, rentLamports) => sum + rentLamports, OPERATOR_RESERVE_LAMPORTS);
  const [account] = await chain.accounts([operator]);
  return neededLamports - (account?.lamports ?? 0n);
}

/**
 * Shows that setups are held up and enqueues the job for later: a blocker outside of the batch delays it, but does not fail it.
 * @param next the batch that cannot be set up now: the one of the job, or one before it.
 */
async function retryLater(
  deps: RunDeps,
  multisig: Multisig,
  { batch, next }: { readonly batch: Batch; readonly next: Batch },
  blocker: SetupBlocker,
): Promise<void> {
  const { jobs, clock, log } = deps;
  const now = clock.now();
  const reason = `${describeBlocker(blocker)} It is tried again every ${RETRY_MS / 1_000} s.`;
  await fencedTransaction(deps, async (trx) => {
    await recordHoldUp(trx, deps.run, next.id, heldUp(reason), now);
    const startAfter = new Date(now.getTime() + RETRY_MS);
    await jobs.enqueue(trx, { type: 'setup', batchId: batch.id, multisig: multisig.address }, { startAfter });
  });
  log.error({ batchId: batch.id, operator: multisig.operator, retryMs: RETRY_MS, ...blocker }, 'setup rescheduled');
}

/** The operator must be funded, or the cluster must recover; neither happens at once. */
const RETRY_MS = 15_000;

/** Sends the missing instructions. Stops at the first bundle that does not land. */
async function landMissing(
  deps: RunDeps,
  multisig: Multisig,
  batch: Batch,
  cursor: SetupCursor,
  attempt: number,
): Promise<Landing> {
  const groups =
    batch.kind === 'rotation' ? [rotationSetupGroup(multisig, batch)] : setupGroups(multisig, batch, cursor);
  const terms = await deps.bundles.terms(multisig.lookupTable.addresses, attempt);
  const planned = planTransactions(groups, operatorLimits(multisig, 'setup', terms, { isCareful: attempt > 0 }));
  return landPlanned(deps, planned, { batchId: batch.id, phase: 'setup', attempt });
}

/**
 * Reads how much of a batch is on chain. `taken`: its index belongs to something else. `gone`: its index was used, and the
 * accounts are closed.
 */
async function readSetupCursor(
  deps: RunDeps,
  multisig: Multisig,
  batch: Batch,
  commitment: DecisiveCommitment = 'confirmed',
): Promise<SetupCursor | 'finished' | 'taken' | 'gone'> {
  const { batchIndex, pipelines } = batch;
  const { transactionIndex, accounts } = await readBatchAccounts(deps, multisig, batch, commitment);
  if (transactionIndex < batchIndex) {
    if (transactionIndex === batchIndex - 1n) return { isCreated: false, size: 0 };
    throw new Error(`The multisig ${multisig.address} is at ${transactionIndex}; ${batchIndex} is not next.`);
  }
  if (accounts === null) return 'gone';
  if (isOfOtherKind(batch, accounts.batch)) return 'taken';
  if (batch.kind === 'rotation') return isRotation(accounts.batch, batch, multisig) ? 'finished' : 'taken';
  // One transaction creates the batch and its draft, so both exist and the operator is the creator.
  const { creator, size } = decodeBatch(accounts.batch);
  const isOwn = creator === multisig.operator;
  // While the recovery key acts, the rent collector is the lost operator, which may have created the batch.
  if ((!isOwn && creator !== multisig.rentCollector) || size > pipelines.length) return 'taken';
  // A restored database may give the index of a batch that it has forgotten to another one.
  const isRecorded = (await findBundles(deps.db, batch.id, 'setup')).some(({ landedSlot }) => landedSlot !== null);
  const mismatch = isRecorded ? null : await findMismatchedPipeline(deps, multisig, batch, commitment);
  if (typeof mismatch === 'number') return 'taken';
  const { status } = decodeProposal(accounts.proposal);
  // Only its creator may add to a draft.
  if (status.__kind === 'Draft') return isOwn ? { isCreated: true, size } : 'taken';
  // Anyone may close the accounts of an ended batch, one vault message after the other: its size falls meanwhile.
  const isClosing = status.__kind === 'Executed' || status.__kind === 'Rejected' || status.__kind === 'Cancelled';
  return size === pipelines.length || isClosing ? 'finished' : 'taken';
}

/**
 * The setup is final by then: the job records what it has cost, while nodes still have its transactions, or sets up again what a
 * fork has taken away.
 */
const SETUP_CHECK_MS = 20_000;

async function finalize(deps: RunDeps, multisig: Multisig, batch: Batch): Promise<void> {
  const { db, jobs, clock, log } = deps;
  const initResult = initResultOf(batch, { bundles: await findBundles(db, batch.id, 'setup'), failedTxMsg: null });
  const job = { batchId: batch.id, multisig: multisig.address } as const;
  const now = clock.now();
  const isFirst = await fencedTransaction(deps, async (trx) => {
    await jobs.enqueue(trx, { type: 'setup', ...job }, { startAfter: new Date(now.getTime() + SETUP_CHECK_MS) });
    if (!(await finalizeBatch(trx, batch.id, initResult, now))) return false;
    // An execution that was requested earlier has been waiting for this, or is about to wait.
    if (await isExecutionRequested(trx, batch.id)) await jobs.enqueue(trx, { type: 'execute', ...job });
    return true;
  });
  if (!isFirst) return;
  log.info({ batchId: batch.id, batchIndex: String(batch.batchIndex), transactions: initResult.total }, 'batch set up');
}

/** Ends a batch that the chain has executed and closed already: the database was restored from a backup. */
async function endClosed(deps: RunDeps, project: Project, batch: Batch, executed: number): Promise<null> {
  const isExecuted = executed === batch.pipelines.length;
  await end(deps, project, batch, {
    transition: isExecuted ? 'EXECUTION_LANDED' : 'ENDED_UNEXECUTED',
    executed,
    failure: isExecuted ? null : { failedTxMsg: `It was closed on chain after ${executed} pipelines.` },
  });
  return null;
}

async function failSetup(deps: RunDeps, project: Project, batch: Batch, failedTxMsg: string): Promise<null> {
  await end(deps, project, batch, { transition: 'SETUP_FAILED', executed: 0, failure: { failedTxMsg } });
  return null;
}

/** A burn is final by then. */
const BURNED_CHECK_MS = 60_000;

/**
 * Creates and closes the indices of batches that ended before they were on chain: Squads cannot skip an index.
 * @returns the lamports that the operator lacks for the next one; 0 if none is left.
 */
async function burnDeadIndices(deps: RunDeps, multisig: Multisig, { flywheelId, batchIndex }: Batch): Promise<bigint> {
  const reached = await readTransactionIndex(deps, multisig);
  for (const dead of await findDeadIndices(deps.db, flywheelId, reached, batchIndex)) {
    // A bundle of its setup may have been in flight when it ended.
    await settleBundles(deps, dead);
    if ((await readTransactionIndex(deps, multisig)) >= dead.batchIndex) continue;
    const created = await accountSizes(multisig, { kind: 'pipelines', pipelines: [] });
    const shortLamports = await operatorShortage(deps, multisig, created);
    if (shortLamports > 0n) return shortLamports;
    const group = burnIndexGroup(multisig, dead.batchIndex);
    // Each attempt may be that of another job.
    const earlier = await findBundles(deps.db, dead.id, 'close');
    const attempt = earlier.filter(({ landedSlot }) => landedSlot === null).length;
    const terms = await deps.bundles.terms(multisig.lookupTable.addresses, attempt);
    const planned = planTransactions([group], operatorLimits(multisig, 'close', terms));
    const signers = [deps.operator, deps.company];
    // If this process dies once the burn has landed, this job records it: no later setup finds the index again. It waits for the
    // fate of the bundle, so it comes with the bundle's row: a job from before could end before it finds anything.
    const check = { type: 'close', batchId: dead.id, multisig: multisig.address } as const;
    const onRecord = (trx: Db) =>
      deps.jobs.enqueue(trx, check, { startAfter: new Date(deps.clock.now().getTime() + BURNED_CHECK_MS) });
    const landing = await landPlanned(deps, planned, { batchId: dead.id, phase: 'close', attempt, signers, onRecord });
    if (landing.state !== 'landed') {
      if ((await readTransactionIndex(deps, multisig)) >= dead.batchIndex) continue;
      throw new Error(
        `Index ${dead.batchIndex} of ${multisig.address} could not be burned: ${JSON.stringify(landing)}`,
      );
    }
    if (!isOperatorLost(multisig)) await fencedTransaction(deps, (trx) => markClosed(trx, dead.id, deps.clock.now()));
    deps.log.info({ batchId: dead.id, batchIndex: String(dead.batchIndex) }, 'index burned');
  }
  return 0n;
}

/**
 * Raises the batch index past the indices that a member used outside of this service, as far as they are finalized. An index
 * that a fork takes away would leave a gap, and Squads creates nothing behind a gap.
 */
async function skipUsedIndices(deps: RunDeps, multisig: Multisig, { flywheelId }: Batch): Promise<void> {
  const reached = await readTransactionIndex(deps, multisig, 'finalized');
  await fencedTransaction(deps, (trx) => raiseBatchIndex(trx, flywheelId, reached), { locksFlywheel: true });
}

async function readTransactionIndex(
  { chain }: RunDeps,
  multisig: Multisig,
  commitment: DecisiveCommitment = 'confirmed',
): Promise<bigint> {
  const [account] = await chain.accounts([multisig.address], { commitment });
  if (!account) throw new Error(`The multisig ${multisig.address} is not on chain.`);
  return decodeMultisig(account).transactionIndex;
}
