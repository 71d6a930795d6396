import {
  ACTIVATE_WEIGHT,
  decodeBatch,
  decodeMultisig,
  decodeProposal,
  type InstructionGroup,
  planTransactions,
  proposalAddress,
  type SquadsInstruction,
  sumOfWeights,
  transactionAddress,
  VOTE_WEIGHT,
} from '@flywheel/squads';
import { type Batch, expiresAtOf, toApiError } from '../../model/batch.ts';
import { utcDay } from '../../model/clock.ts';
import { isOperatorLost, type Multisig, type Project } from '../../model/project.ts';
import { closeGroups } from '../../squads/groups.ts';
import { locateBatch, proposalActivate, proposalCancel, proposalReject } from '../../squads/instructions.ts';
import { rotationCloseGroup } from '../../squads/rotation.ts';
import { finalizeExecution } from '../../store/batches/batches.ts';
import { findSignedDecisions } from '../../store/batches/company-approvals.ts';
import { isEndFinalized, markClosed } from '../../store/batches/ends.ts';
import { chargeBatch, limitReservation, releaseExposure } from '../../store/batches/exposure.ts';
import { DamagedRecord } from '../../store/damaged-record.ts';
import type { Db } from '../../store/db.ts';
import { dropWaiting } from '../../store/jobs/lanes.ts';
import { operatorLimits } from '../bundles/assemble-bundle.ts';
import { landPlanned } from '../bundles/flight.ts';
import { settleBundles } from '../bundles/land.ts';
import { executeResultOf } from '../bundles/results.ts';
import { findContent } from '../compile-again.ts';
import { findRejection } from '../decisions.ts';
import { fencedTransaction, type RunDeps } from '../deps.ts';
import { boundBurnedIndex, boundClosing } from '../exposure.ts';
import { uncountUnexecuted } from '../terms.ts';
import { completeLedger, judgeLedger } from './complete-ledger.ts';
import { END_REASONS, end, recordTokenAccounts } from './end.ts';
import { runPipelines } from './execute-pipelines.ts';
import {
  awaitFinality,
  isClosedForGood,
  isFinalForAll,
  readFinalBundles,
  readFinality,
  untilFinalMs,
} from './finality.ts';
import { isOfOtherKind, readProgress } from './progress.ts';

/** Finality takes about 13 s; jobs of the same multisig run meanwhile. */
const FINALITY_POLL_MS = 2_000;
/** The costs may be missing while a node is behind. They are read again after these times, before and after the closing. */
const [LEDGER_POLL_MS, CLOSED_CHECK_MS] = [10_000, 60_000];
/** Interval at which the job looks for the wallet's cancel vote. */
const CANCEL_POLL_MS = 10 * 60_000;
/** After this many failures in a row, another immediate attempt is unlikely to succeed. */
const MAX_FAILED_LANDINGS = 3;
const RETRY_MS = 60_000;

/**
 * Job `close`: closes the accounts of a batch that has ended, which returns their rent to the operator, once the end is
 * finalized. The database holds the result by then, so the cursor on chain is no longer needed. A batch that was not
 * executed is rejected first. An approved one needs the cancel votes of the company and of the wallet, and the job
 * waits for the latter.
 */
export async function closeBatch(deps: RunDeps, project: Project, batch: Batch): Promise<void> {
  const { multisig } = project.flywheel;
  if (batch.status === 'FAILED') await recordRejection(deps, project, batch);
  await settleBundles(deps, batch);
  if (batch.status === 'FAILED' && !(await uncountUnexecuted(deps, project, batch))) {
    return enqueueAgain(deps, multisig, batch, FINALITY_POLL_MS);
  }
  const isShownEarly = batch.status === 'EXECUTED' && !(await isEndFinalized(deps.db, batch.id));
  const retryMs = isShownEarly ? await finalizeEnd(deps, project, batch) : null;
  if (retryMs !== null) return enqueueAgain(deps, multisig, batch, retryMs);
  // Charges what the batch has cost before its reservation is returned.
  await completeLedger(deps, multisig, batch);
  await limitReservation(deps.db, batch.id, boundClosing(deps.prices, batch));
  // The end of the rotation that replaces the lost operator enqueues the job again.
  if (isOperatorLost(multisig)) return;
  for (let failedLandings = 0; failedLandings < MAX_FAILED_LANDINGS; ) {
    const step = await nextStep(deps, multisig, batch);
    if (step === 'closed') {
      if (!(await isClosedForGood(deps, multisig, batch))) {
        return enqueueAgain(deps, multisig, batch, await untilFinalMs(deps, batch, 'close'));
      }
      const ledger = await judgeLedger(deps, batch);
      if (ledger === 'incomplete') return enqueueAgain(deps, multisig, batch, LEDGER_POLL_MS);
      return recordClosed(deps, multisig, batch, { hasAllCosts: ledger === 'complete' });
    }
    if (step === 'not created') {
      // A setup that a fork took away may land again until it expires.
      if (!(await isFinalForAll(deps, batch))) return enqueueAgain(deps, multisig, batch, FINALITY_POLL_MS);
      return releaseUncreated(deps, multisig, batch);
    }
    if (step === 'awaits wallet') return enqueueAgain(deps, multisig, batch, CANCEL_POLL_MS);
    if (!(await landStep(deps, multisig, batch, { ...step, attempt: failedLandings }))) failedLandings += 1;
    else if (step.isLast) return enqueueAgain(deps, multisig, batch, await untilFinalMs(deps, batch, 'close'));
  }
  await enqueueAgain(deps, multisig, batch, RETRY_MS);
}

/**
 * Records that a batch is closed. Where the ledger lacks a transaction, the job runs once more: a node that is behind, or has
 * forgotten it, may tell its costs by then.
 */
async function recordClosed(
  deps: RunDeps,
  multisig: Multisig,
  batch: Batch,
  { hasAllCosts }: { readonly hasAllCosts: boolean },
): Promise<void> {
  const isFirst = await fencedTransaction(deps, async (trx) => {
    await dropExpiry(trx, multisig, batch);
    if (!(await markClosed(trx, batch.id, deps.clock.now()))) return false;
    if (!hasAllCosts) await enqueueAgain({ ...deps, db: trx }, multisig, batch, CLOSED_CHECK_MS);
    return true;
  });
  if (isFirst) deps.log.info({ batchId: batch.id }, 'batch closed on chain');
}

/** Records an operator's rejection, so that whoever opens the batch again gets no signature for it. */
async function recordRejection(deps: RunDeps, project: Project, batch: Batch): Promise<void> {
  const decisions = await findSignedDecisions(deps.db, batch.id);
  if (decisions.length === 0) return;
  const content = await findContent(project, batch);
  // The company signs nothing for a batch whose request compiles to something else.
  if (content instanceof DamagedRecord) return;
  await findRejection(deps, project, { batchIndex: batch.batchIndex, content }, decisions);
}

/**
 * Returns what a batch had locked and reserved that was never created. The next setup uses up its index, which is charged
 * now: a project that ends all its batches early would otherwise leave that cost to a later day.
 */
async function releaseUncreated(deps: RunDeps, multisig: Multisig, batch: Batch): Promise<void> {
  const day = utcDay(deps.clock.now());
  await fencedTransaction(deps, async (trx) => {
    await dropExpiry(trx, multisig, batch);
    if (await releaseExposure(trx, batch.id)) await chargeBatch(trx, batch.id, day, boundBurnedIndex(deps.prices));
  });
}

/**
 * Drops the expiry of a batch that has ended. It would wait for days, and each query of the project's jobs reads what
 * waits.
 */
function dropExpiry(trx: Db, { address: multisig }: Multisig, { id: batchId }: Batch): Promise<void> {
  return dropWaiting(trx, { type: 'expire', batchId, multisig });
}

/**
 * Makes the end of an executed batch final once the cluster has finalized it. Executes again what a fork has taken away.
 * @returns milliseconds after which to check again; null if the end is final.
 */
async function finalizeEnd(deps: RunDeps, project: Project, batch: Batch): Promise<number | null> {
  const { multisig } = project.flywheel;
  const final = await readFinality(deps, multisig, batch);
  if (final === 'incomplete') return RETRY_MS;
  if (final.executed === batch.pipelines.length) {
    const bundles = await readFinalBundles(deps, batch, final.executed);
    const executeResult = executeResultOf(batch, { bundles, executed: final.executed, failure: null });
    await fencedTransaction(deps, async (trx) => {
      await recordTokenAccounts(deps, trx, project, batch, final.executed);
      await finalizeExecution(trx, batch.id, executeResult, deps.clock.now());
    });
    return null;
  }
  const { status, executed } = await readProgress(deps, multisig, batch);
  if (executed === batch.pipelines.length) return untilFinalMs(deps, batch, 'execution');
  deps.log.warn({ batchId: batch.id, status, executed }, 'a fork undid a part of an execution; executing again');
  // An account whose creation was undone must not count as closed by its recipient.
  await fencedTransaction(deps, (trx) => recordTokenAccounts(deps, trx, project, batch, executed));
  return executeAgain(deps, project, batch);
}

/**
 * Executes again what a fork has undone. If that fails for good, the batch becomes FAILED with what is executed. A cause that
 * can be resolved is waited for until the batch expires.
 * @returns milliseconds after which to check again.
 */
async function executeAgain(deps: RunDeps, project: Project, batch: Batch): Promise<number> {
  const outcome = await runPipelines(deps, project, batch);
  switch (outcome.kind) {
    case 'stopped':
      return FINALITY_POLL_MS;
    case 'ended':
      if (outcome.ending.failure !== null) await end(deps, project, batch, outcome.ending);
      return FINALITY_POLL_MS;
    case 'awaits company':
      await endUndone(deps, project, batch, 'A person of the company would have to approve it, after its end.');
      return FINALITY_POLL_MS;
    case 'unapproved':
    case 'delayed':
      break;
    default:
      throw outcome satisfies never;
  }
  const { kind, issue } = outcome;
  deps.log.error({ batchId: batch.id, issue }, 'what a fork undid cannot be executed again now');
  if (deps.clock.now() >= expiresAtOf(batch, deps)) await endUndone(deps, project, batch, END_REASONS.expired);
  // No client can sign the batch again or request its execution: it reads EXECUTED.
  else if (kind === 'unapproved' && issue.code !== 'ERR_VAULT_UNDERFUNDED') {
    await endUndone(deps, project, batch, toApiError(issue).message);
  }
  return RETRY_MS;
}

/** Makes an executed batch FAILED, unless what is finalized shows all of its pipelines executed after all. */
async function endUndone(deps: RunDeps, project: Project, batch: Batch, failedTxMsg: string): Promise<void> {
  await settleBundles(deps, batch);
  const final = await awaitFinality(deps, project.flywheel.multisig, batch);
  if (final === 'incomplete' || final.executed === batch.pipelines.length) return;
  await end(deps, project, batch, {
    transition: 'EXECUTION_UNDONE',
    executed: final.executed,
    failure: { failedTxMsg },
  });
}

/** Instructions to send next, or the reason why there are none. */
type Step = Sending | 'closed' | 'awaits wallet' | 'not created';

interface Sending {
  readonly groups: readonly InstructionGroup[];
  /** Nothing is to be sent after it. */
  readonly isLast: boolean;
}

async function nextStep({ chain }: RunDeps, multisig: Multisig, batch: Batch): Promise<Step> {
  const { batchIndex } = batch;
  const [multisigAccount, batchAccount, proposalAccount] = await chain.accounts([
    multisig.address,
    transactionAddress(multisig.address, batchIndex),
    proposalAddress(multisig.address, batchIndex),
  ]);
  if (!multisigAccount) throw new Error(`The multisig ${multisig.address} is not on chain.`);
  const { transactionIndex, staleTransactionIndex } = decodeMultisig(multisigAccount);
  if (!batchAccount || !proposalAccount) return transactionIndex < batchIndex ? 'not created' : 'closed';
  // Nothing at this index is the batch's: the company does not vote about it, and it cannot be closed as a batch.
  if (isOfOtherKind(batch, batchAccount)) return 'closed';
  const {
    status: { __kind: status },
    cancelled,
  } = decodeProposal(proposalAccount);
  const closing = async () => ({
    groups:
      batch.kind === 'rotation'
        ? [rotationCloseGroup(multisig, batch)]
        : closeGroups(multisig, batch, decodeBatch(batchAccount).size),
    isLast: true,
  });
  // A change of members made the proposal stale: votes are impossible, and closing needs none. An approved batch can be
  // executed nevertheless, and an approved rotation cannot.
  const isStale = batchIndex <= staleTransactionIndex;
  const isVoid = status === 'Draft' || status === 'Active' || (status === 'Approved' && batch.kind === 'rotation');
  if (isStale && isVoid) return closing();
  const located = locateBatch(multisig, batchIndex);
  switch (status) {
    case 'Draft':
      // A draft cannot be rejected.
      return {
        groups: [
          {
            instructions: [proposalActivate(located), proposalReject(located, multisig.company)],
            ...sumOfWeights([ACTIVATE_WEIGHT, VOTE_WEIGHT]),
          },
        ],
        isLast: false,
      };
    case 'Active':
      return vote(proposalReject(located, multisig.company));
    case 'Approved':
      if (cancelled.includes(multisig.company)) return 'awaits wallet';
      return vote(proposalCancel(located, multisig.company));
    case 'Rejected':
    case 'Cancelled':
    case 'Executed':
      return closing();
    case 'Executing':
      throw new Error(`The proposal of batch index ${batchIndex} is Executing, a status that Squads no longer uses.`);
    default:
      return status satisfies never;
  }
}

function vote(instruction: SquadsInstruction): Sending {
  return { groups: [{ instructions: [instruction], ...VOTE_WEIGHT }], isLast: false };
}

/** Sends the instructions of a step. Returns false if a bundle did not land. */
async function landStep(
  deps: RunDeps,
  multisig: Multisig,
  { id: batchId }: Batch,
  { groups, attempt }: Sending & { readonly attempt: number },
): Promise<boolean> {
  const terms = await deps.bundles.terms(multisig.lookupTable.addresses, attempt);
  const planned = planTransactions(groups, operatorLimits(multisig, 'close', terms, { isCareful: attempt > 0 }));
  const signers = [deps.operator, deps.company];
  const landing = await landPlanned(deps, planned, { batchId, phase: 'close', attempt, signers });
  if (landing.state === 'landed') return true;
  deps.log.warn({ batchId, landing }, 'a closing bundle did not land');
  return false;
}

/** Enqueues the job for later, so that no job blocks while it waits for a person. */
async function enqueueAgain(
  { db, jobs, clock }: Pick<RunDeps, 'db' | 'jobs' | 'clock'>,
  multisig: Multisig,
  batch: Batch,
  afterMs: number,
): Promise<void> {
  const startAfter = new Date(clock.now().getTime() + afterMs);
  await jobs.enqueue(db, { type: 'close', batchId: batch.id, multisig: multisig.address }, { startAfter });
}
