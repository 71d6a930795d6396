import type { Batch } from '../../model/batch.ts';
import type { Multisig, Project } from '../../model/project.ts';
import { decodeBatch, decodeMultisig, decodeProposal } from '../../squads/accounts.ts';
import { batchAddress, proposalAddress } from '../../squads/addresses.ts';
import { burnIndexGroup } from '../../squads/close.ts';
import { planTransactions } from '../../squads/plan.ts';
import { batchAccountSizes, rotationAccountSizes } from '../../squads/rent.ts';
import { actionsOf, isRotation, rotationSetupGroup } from '../../squads/rotation/groups.ts';
import { type SetupCursor, setupGroups } from '../../squads/setup.ts';
import { finalizeBatch, findBatchesToSetUp } from '../../store/batches/batches.ts';
import { findDeadIndices, markClosed, raiseBatchIndex } from '../../store/batches/ends.ts';
import { findBundles } from '../../store/landing/bundles.ts';
import { assembleBundle, operatorLimits } from '../bundles/assemble-bundle.ts';
import { followBundle, type Landing, landBundle } from '../bundles/land.ts';
import { initResultOf } from '../bundles/results.ts';
import { fencedTransaction, type RunDeps } from '../deps.ts';
import { end } from './end.ts';
import { completeLedger } from './ledger.ts';
import { readClosed } from './progress.ts';

/**
 * Creates a batch on chain, and before it every earlier one of the same multisig that is not there yet: Squads takes
 * indices in order only. Goes on from where the chain is, so it may be repeated at any moment.
 */
export async function setUpBatch(deps: RunDeps, project: Project, batch: Batch): Promise<void> {
  for (const next of await findBatchesToSetUp(deps.db, batch.flywheelId, batch.batchIndex)) {
    await burnDeadIndices(deps, project.flywheel.multisig, next);
    const blocker = await setUpOne(deps, project, next);
    if (blocker !== null) return pause(deps, project.flywheel.multisig, batch, blocker);
  }
}

/** What is not the batch's fault, for the log. */
type SetupBlocker = { readonly shortLamports: string } | { readonly lostLandings: number };

/** Sending again has not helped this often: the reason is in the batch, not in the weather. */
const MAX_FAILED_LANDINGS = 3;
/** Lost this often in a row, with a tip that doubled each time: later is better than now. */
const MAX_LOST_LANDINGS = 4;

/** null when the batch is on chain, or has ended; else what is in the way. */
async function setUpOne(deps: RunDeps, project: Project, batch: Batch): Promise<SetupBlocker | null> {
  for (const bundle of await findBundles(deps.db, batch.id, 'setup')) {
    if (bundle.state === 'sent') await followBundle(deps, bundle);
  }
  const { multisig } = project.flywheel;
  let failedLandings = 0;
  let lostLandings = 0;
  for (;;) {
    const cursor = await readSetupCursor(deps, multisig, batch);
    if (cursor === 'finished') {
      await finalize(deps, batch);
      await recordRent(deps, multisig, batch);
      return null;
    }
    if (typeof cursor === 'number') return endClosed(deps, project, batch, cursor);
    if (cursor === 'taken') {
      await followCounter(deps, multisig, batch);
      return failSetup(deps, project, batch, `Index ${batch.batchIndex} was taken by another transaction.`);
    }
    const shortLamports = await operatorShortage(deps, multisig, batch);
    if (shortLamports > 0n) return { shortLamports: String(shortLamports) };
    const landing = await landFrom(deps, multisig, batch, cursor, lostLandings + failedLandings);
    if (landing.state === 'landed') continue;
    if (landing.state === 'lost') {
      lostLandings += 1;
      if (lostLandings >= MAX_LOST_LANDINGS) return { lostLandings };
      continue;
    }
    const failure = landing.err;
    failedLandings += 1;
    deps.log.warn({ batchId: batch.id, failedLandings, failure }, 'setup transaction failed on chain');
    if (failedLandings >= MAX_FAILED_LANDINGS) return failSetup(deps, project, batch, failure);
  }
}

/** A few thousand transaction fees: what the operator keeps for the batches it has begun. */
const OPERATOR_RESERVE_LAMPORTS = 10_000_000n;

/** What the operator lacks to lock a batch's rent and keep its reserve; nothing when it has enough. */
async function operatorShortage({ chain }: RunDeps, { operator }: Multisig, batch: Batch): Promise<bigint> {
  const sizes =
    batch.kind === 'rotation'
      ? rotationAccountSizes(actionsOf(batch))
      : batchAccountSizes(batch.pipelines.map(({ vaultMessage }) => vaultMessage));
  const rents = await Promise.all(sizes.map((bytes) => chain.minimumBalanceForRentExemption(bytes)));
  const neededLamports = rents.reduce((sum, rentLamports) => sum + rentLamports, OPERATOR_RESERVE_LAMPORTS);
  const [account] = await chain.accounts([operator]);
  return neededLamports - (account?.lamports ?? 0n);
}

/** Setup pauses, never fails, for what is not the batch's fault; meanwhile this worker does other work. */
async function pause(
  { db, jobs, clock, log }: RunDeps,
  multisig: Multisig,
  batch: Batch,
  why: SetupBlocker,
): Promise<void> {
  const startAfter = new Date(clock.now().getTime() + PAUSE_MS);
  await jobs.enqueue(db, { type: 'setup', batchId: batch.id, multisig: multisig.address }, { startAfter });
  log.error({ batchId: batch.id, operator: multisig.operator, pauseMs: PAUSE_MS, ...why }, 'setup paused');
}

/** Somebody has to top the operator up, or a cluster to come to its senses. */
const PAUSE_MS = 15_000;

/** Lands what is missing, up to the first bundle that does not land. */
async function landFrom(
  deps: RunDeps,
  multisig: Multisig,
  batch: Batch,
  cursor: SetupCursor,
  attempt: number,
): Promise<Landing> {
  const groups =
    batch.kind === 'rotation'
      ? [await rotationSetupGroup(multisig, batch)]
      : await setupGroups(multisig, batch, cursor);
  const terms = await deps.bundles.terms(multisig.lookupTable.addresses, attempt);
  let left = planTransactions(groups, operatorLimits(multisig, 'setup', terms, { isCareful: attempt > 0 }));
  while (left.length > 0) {
    const { maxTransactions } = deps.bundles;
    const { planned, ...bundle } = await assembleBundle(deps, left, { maxTransactions, attempt });
    const landing = await landBundle(deps, { ...bundle, batchId: batch.id, phase: 'setup' });
    if (landing.state !== 'landed') return landing;
    left = left.slice(planned.length);
  }
  return { state: 'landed' };
}

/** Where the chain is with a batch; `taken` when its index belongs to something else; a number when it has ended and was closed: what was executed. */
async function readSetupCursor(
  { chain }: RunDeps,
  multisig: Multisig,
  batch: Batch,
): Promise<SetupCursor | 'finished' | 'taken' | number> {
  const { batchIndex, pipelines } = batch;
  const [multisigAccount, batchAccount, proposalAccount] = await chain.accounts([
    multisig.address,
    await batchAddress(multisig.address, batchIndex),
    await proposalAddress(multisig.address, batchIndex),
  ]);
  if (!multisigAccount) throw new Error(`The multisig ${multisig.address} is not on chain.`);
  const { transactionIndex } = decodeMultisig(multisigAccount);
  if (transactionIndex < batchIndex) {
    if (transactionIndex === batchIndex - 1n) return { isCreated: false, size: 0 };
    throw new Error(`The multisig ${multisig.address} is at ${transactionIndex}; ${batchIndex} is not next.`);
  }
  // Creation and draft share a transaction, so ours has both, and we are its creator.
  if (!batchAccount || !proposalAccount) return (await readClosed({ chain }, multisig, batch)) ?? 'taken';
  if (batch.kind === 'rotation') return isRotation(batchAccount, batch, multisig) ? 'finished' : 'taken';
  const { creator, size } = decodeBatch(batchAccount);
  if (creator !== multisig.operator || size > pipelines.length) return 'taken';
  const { status } = decodeProposal(proposalAccount);
  if (status === 'Draft') return { isCreated: true, size };
  return size === pipelines.length ? 'finished' : 'taken';
}

async function finalize(deps: RunDeps, batch: Batch): Promise<null> {
  const { db, clock, log } = deps;
  const initResult = initResultOf(batch, { bundles: await findBundles(db, batch.id, 'setup'), failedTxMsg: null });
  await fencedTransaction(deps, (trx) => finalizeBatch(trx, batch.id, initResult, clock.now()));
  log.info({ batchId: batch.id, batchIndex: String(batch.batchIndex), transactions: initResult.total }, 'batch set up');
  return null;
}

/** What is locked shows in the ledger while it is. Who cannot read it now reads it when the batch is closed. */
async function recordRent(deps: RunDeps, multisig: Multisig, batch: Batch): Promise<void> {
  try {
    await completeLedger(deps, multisig, batch);
  } catch (error) {
    deps.log.warn({ batchId: batch.id, err: error }, 'what the setup has cost is not readable yet');
  }
}

/** The chain knows more of this batch than the database: it ran its course, and its accounts are closed. */
async function endClosed(deps: RunDeps, project: Project, batch: Batch, executed: number): Promise<null> {
  await finalize(deps, batch);
  const isExecuted = executed === batch.pipelines.length;
  await end(deps, project, batch, {
    event: isExecuted ? 'EXECUTION_LANDED' : 'ENDED_UNEXECUTED',
    executed,
    failure: isExecuted ? null : { failedTxMsg: `It was closed on chain after ${executed} pipelines.` },
  });
  return null;
}

async function failSetup(deps: RunDeps, project: Project, batch: Batch, failedTxMsg: string): Promise<null> {
  await end(deps, project, batch, { event: 'SETUP_FAILED', executed: 0, failure: { failedTxMsg } });
  return null;
}

/** Batches that ended before they were created on chain hold up those behind them. */
async function burnDeadIndices(deps: RunDeps, multisig: Multisig, { flywheelId, batchIndex }: Batch): Promise<void> {
  const reached = await readTransactionIndex(deps, multisig);
  for (const dead of await findDeadIndices(deps.db, flywheelId, reached, batchIndex)) {
    const group = await burnIndexGroup(multisig, dead.batchIndex);
    const terms = await deps.bundles.terms(multisig.lookupTable.addresses);
    const planned = planTransactions([group], operatorLimits(multisig, 'close', terms));
    const { maxTransactions } = deps.bundles;
    const signers = [deps.operator, deps.company];
    const { planned: _, ...bundle } = await assembleBundle(deps, planned, { maxTransactions, signers });
    const landing = await landBundle(deps, { ...bundle, batchId: dead.id, phase: 'close' });
    if (landing.state !== 'landed' && (await readTransactionIndex(deps, multisig)) < dead.batchIndex) {
      throw new Error(`Index ${dead.batchIndex} of ${multisig.address} could not be burnt: ${JSON.stringify(landing)}`);
    }
    await fencedTransaction(deps, (trx) => markClosed(trx, dead.id, deps.clock.now()));
    deps.log.info({ batchId: dead.id, batchIndex: String(dead.batchIndex) }, 'index burnt');
  }
}

/** A member used an index by other means: ours go on after the chain’s. */
async function followCounter(deps: RunDeps, multisig: Multisig, { flywheelId }: Batch): Promise<void> {
  const reached = await readTransactionIndex(deps, multisig);
  await fencedTransaction(deps, (trx) => raiseBatchIndex(trx, flywheelId, reached));
}

async function readTransactionIndex({ chain }: RunDeps, multisig: Multisig): Promise<bigint> {
  const [account] = await chain.accounts([multisig.address]);
  if (!account) throw new Error(`The multisig ${multisig.address} is not on chain.`);
  return decodeMultisig(account).transactionIndex;
}
