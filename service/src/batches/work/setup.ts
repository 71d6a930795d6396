import type { Batch } from '../../model/batch.ts';
import type { Multisig, Project } from '../../model/project.ts';
import { decodeBatch, decodeMultisig, decodeProposal } from '../../squads/accounts.ts';
import { batchAddress, proposalAddress } from '../../squads/addresses.ts';
import { burnIndexInstructions } from '../../squads/close.ts';
import { planTransactions } from '../../squads/plan.ts';
import { type SetupCursor, setupInstructions } from '../../squads/setup.ts';
import { finalizeBatch, findBatchesToSetUp } from '../../store/batches.ts';
import { findBundles } from '../../store/bundles.ts';
import { findDeadIndices, markClosed, raiseBatchIndex } from '../../store/ends.ts';
import { assembleBundle, operatorLimits } from '../bundles/assemble-bundle.ts';
import { followBundle, landBundle } from '../bundles/land.ts';
import { initResultOf } from '../bundles/results.ts';
import { inRun, type RunDeps } from '../in-run.ts';
import { end } from './end.ts';

/**
 * Creates a batch on chain, and before it every earlier one of the same multisig that is not there yet: Squads takes
 * indices in order only. Goes on from where the chain is, so it may be repeated at any moment.
 */
export async function setUpBatch(deps: RunDeps, project: Project, batch: Batch): Promise<void> {
  for (const next of await findBatchesToSetUp(deps.db, batch.flywheelId, batch.batchIndex)) {
    await burnDeadIndices(deps, project.flywheel.multisig, next);
    await setUpOne(deps, project, next);
  }
}

/** Sending again has not helped this often: the reason is in the batch, not in the weather. */
const MAX_FAILED_LANDINGS = 3;

async function setUpOne(deps: RunDeps, project: Project, batch: Batch): Promise<void> {
  for (const bundle of await findBundles(deps.db, batch.id, 'setup')) {
    if (bundle.state === 'sent') await followBundle(deps, bundle);
  }
  const { multisig } = project.flywheel;
  let failedLandings = 0;
  for (;;) {
    const cursor = await readSetupCursor(deps, multisig, batch);
    if (cursor === 'finished') return finalize(deps, batch);
    if (cursor === 'taken') {
      await followCounter(deps, multisig, batch);
      return failSetup(deps, project, batch, `Index ${batch.batchIndex} was taken by another transaction.`);
    }
    const failure = await landFrom(deps, multisig, batch, cursor);
    if (failure === null) continue;
    failedLandings += 1;
    deps.log.warn({ batchId: batch.id, failedLandings, failure }, 'setup transaction failed on chain');
    if (failedLandings >= MAX_FAILED_LANDINGS) return failSetup(deps, project, batch, failure);
  }
}

/** Lands what is missing; the error of a transaction that failed on chain, or null: then the chain is to be read again. */
async function landFrom(deps: RunDeps, multisig: Multisig, batch: Batch, cursor: SetupCursor): Promise<string | null> {
  const groups = await setupInstructions(multisig, batch, cursor);
  let left = planTransactions(groups, operatorLimits(multisig, 'setup'));
  while (left.length > 0) {
    const { planned, ...bundle } = await assembleBundle(deps, left, { maxTransactions: deps.bundles.maxTransactions });
    const landing = await landBundle(deps, {
      ...bundle,
      batchId: batch.id,
      phase: 'setup',
      firstPipeline: 0,
      pipelineCount: 0,
    });
    if (landing.state === 'failed') return landing.err;
    if (landing.state === 'lost') return null;
    left = left.slice(planned.length);
  }
  return null;
}

/** Where the chain is with a batch; `taken` when its index belongs to something else. */
async function readSetupCursor(
  { chain }: RunDeps,
  multisig: Multisig,
  { batchIndex, pipelines }: Batch,
): Promise<SetupCursor | 'finished' | 'taken'> {
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
  if (!batchAccount || !proposalAccount) return 'taken';
  const { creator, size } = decodeBatch(batchAccount);
  if (creator !== multisig.operator || size > pipelines.length) return 'taken';
  const { status } = decodeProposal(proposalAccount);
  if (status === 'Draft') return { isCreated: true, size };
  return size === pipelines.length ? 'finished' : 'taken';
}

async function finalize(deps: RunDeps, batch: Batch): Promise<void> {
  const { db, clock, log } = deps;
  const initResult = initResultOf(batch, { bundles: await findBundles(db, batch.id, 'setup'), failedTxMsg: null });
  await inRun(deps, (trx) => finalizeBatch(trx, batch.id, initResult, clock.now()));
  log.info({ batchId: batch.id, batchIndex: String(batch.batchIndex), transactions: initResult.total }, 'batch set up');
}

async function failSetup(deps: RunDeps, project: Project, batch: Batch, failedTxMsg: string): Promise<void> {
  await end(deps, project, batch, { event: 'SETUP_FAILED', executed: 0, failure: { failedTxMsg } });
}

/** Batches that ended before they were created on chain hold up those behind them. */
async function burnDeadIndices(deps: RunDeps, multisig: Multisig, { flywheelId, batchIndex }: Batch): Promise<void> {
  const reached = await readTransactionIndex(deps, multisig);
  for (const dead of await findDeadIndices(deps.db, flywheelId, reached, batchIndex)) {
    const instructions = await burnIndexInstructions(multisig, dead.batchIndex);
    const planned = planTransactions([instructions], operatorLimits(multisig, 'close'));
    const { maxTransactions } = deps.bundles;
    const signers = [deps.operator, deps.company];
    const { planned: _, ...bundle } = await assembleBundle(deps, planned, { maxTransactions, signers });
    const position = { firstPipeline: 0, pipelineCount: 0 };
    const landing = await landBundle(deps, { ...bundle, batchId: dead.id, phase: 'close', ...position });
    if (landing.state !== 'landed' && (await readTransactionIndex(deps, multisig)) < dead.batchIndex) {
      throw new Error(`Index ${dead.batchIndex} of ${multisig.address} could not be burnt: ${JSON.stringify(landing)}`);
    }
    await inRun(deps, (trx) => markClosed(trx, dead.id, deps.clock.now()));
    deps.log.info({ batchId: dead.id, batchIndex: String(dead.batchIndex) }, 'index burnt');
  }
}

/** A member used an index by other means: ours go on after the chain’s. */
async function followCounter(deps: RunDeps, multisig: Multisig, { flywheelId }: Batch): Promise<void> {
  const reached = await readTransactionIndex(deps, multisig);
  await inRun(deps, (trx) => raiseBatchIndex(trx, flywheelId, reached));
}

async function readTransactionIndex({ chain }: RunDeps, multisig: Multisig): Promise<bigint> {
  const [account] = await chain.accounts([multisig.address]);
  if (!account) throw new Error(`The multisig ${multisig.address} is not on chain.`);
  return decodeMultisig(account).transactionIndex;
}
