import type { InitResult } from '@flywheel/api';
import type { Batch } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import { decodeBatch, decodeMultisig, decodeProposal } from '../../squads/accounts.ts';
import { batchAddress, proposalAddress } from '../../squads/addresses.ts';
import { planTransactions } from '../../squads/plan.ts';
import { type SetupCursor, setupInstructions } from '../../squads/setup.ts';
import { endBatch, finalizeBatch, findBatchesToSetUp } from '../../store/batches.ts';
import { findBundles } from '../../store/bundles.ts';
import { assembleBundle, operatorLimits } from '../bundles/assemble-bundle.ts';
import { followBundle, landBundle } from '../bundles/land.ts';
import { executeResultOf, landedExecutions } from '../bundles/results.ts';
import type { WorkerDeps } from '../deps.ts';

/**
 * Creates a batch on chain, and before it every earlier one of the same multisig that is not there yet: Squads takes
 * indices in order only. Goes on from where the chain is, so it may be repeated at any moment.
 */
export async function setUpBatch(deps: WorkerDeps, multisig: Multisig, batch: Batch): Promise<void> {
  for (const next of await findBatchesToSetUp(deps.db, batch.flywheelId, batch.batchIndex)) {
    await setUpOne(deps, multisig, next);
  }
}

/** Sending again has not helped this often: the reason is in the batch, not in the weather. */
const MAX_FAILED_LANDINGS = 3;

async function setUpOne(deps: WorkerDeps, multisig: Multisig, batch: Batch): Promise<void> {
  for (const bundle of await findBundles(deps.db, batch.id, 'setup')) {
    if (bundle.state === 'sent') await followBundle(deps, bundle);
  }
  let failedLandings = 0;
  for (;;) {
    const cursor = await readSetupCursor(deps, multisig, batch);
    if (cursor === 'finished') return finalize(deps, batch);
    if (cursor === 'taken') {
      return failSetup(deps, batch, `Index ${batch.batchIndex} of the multisig was taken by another transaction.`);
    }
    const failure = await landFrom(deps, multisig, batch, cursor);
    if (failure === null) continue;
    failedLandings += 1;
    deps.log.warn({ batchId: batch.id, failedLandings, failure }, 'setup transaction failed on chain');
    if (failedLandings >= MAX_FAILED_LANDINGS) return failSetup(deps, batch, failure);
  }
}

/** Lands what is missing; the error of a transaction that failed on chain, or null: then the chain is to be read again. */
async function landFrom(
  deps: WorkerDeps,
  multisig: Multisig,
  batch: Batch,
  cursor: SetupCursor,
): Promise<string | null> {
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
  { chain }: WorkerDeps,
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

async function finalize({ db, clock, log }: WorkerDeps, batch: Batch): Promise<void> {
  const initResult = await setupResult(db, batch, null);
  await finalizeBatch(db, batch.id, initResult, clock.now());
  log.info({ batchId: batch.id, batchIndex: String(batch.batchIndex), transactions: initResult.total }, 'batch set up');
}

async function failSetup({ db, clock, log }: WorkerDeps, batch: Batch, failedTxMsg: string): Promise<void> {
  const initResult = await setupResult(db, batch, failedTxMsg);
  const executeResult = executeResultOf(batch, { bundles: [], executed: 0, failure: { failedTxMsg } });
  await endBatch(db, batch.id, { event: 'SETUP_FAILED', initResult, executeResult }, clock.now());
  log.error({ batchId: batch.id, failedTxMsg }, 'batch can never be set up');
}

async function setupResult(db: WorkerDeps['db'], batch: Batch, failedTxMsg: string | null): Promise<InitResult> {
  const bundles = await findBundles(db, batch.id, 'setup');
  const totalSuccessful = bundles.reduce((sum, { landedSignatures }) => sum + landedSignatures.length, 0);
  const totalFailed = failedTxMsg === null ? 0 : 1;
  return {
    total: totalSuccessful + totalFailed,
    totalSuccessful,
    totalFailed,
    successfulExecutions: landedExecutions(bundles),
    ...(failedTxMsg !== null && { failedTxMsg }),
    batchIndex: Number(batch.batchIndex),
  };
}
