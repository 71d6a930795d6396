import { type EndCause, isFinalStatus, type RecipientFailure } from '@flywheel/api';
import { address } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { dailyTotals, requirements } from '../../compile/totals.ts';
import { type Batch, type BatchTransition, type Bundle, describeRejection } from '../../model/batch.ts';
import { isOperatorLost, type Multisig, type Project } from '../../model/project.ts';
import { endBatch, finalizeBatch } from '../../store/batches/batches.ts';
import { findBundles } from '../../store/batches/bundles.ts';
import { findCompanyDecision } from '../../store/batches/company-approvals.ts';
import { markTokenAccountsCreated } from '../../store/batches/created-token-accounts.ts';
import { findUnclosedIds, lockUnbegun } from '../../store/batches/ends.ts';
import { replaceMember, replacementOf } from '../../store/batches/rotations.ts';
import { releasePolicyUses } from '../../store/company/policy-uses.ts';
import { wasSetupRecorded } from '../../store/company/totals.ts';
import type { Db } from '../../store/db.ts';
import { isNonceOf } from '../../store/nonces.ts';
import { releaseRecipients } from '../../store/projects/held-recipients.ts';
import { isServed } from '../admission.ts';
import { settleBundles } from '../bundles/land.ts';
import { type ExecutionFailure, executeResultOf, initResultOf } from '../bundles/results.ts';
import { findMismatchedPipeline } from '../check/mismatches.ts';
import { kindOf } from '../compile-again.ts';
import { type Deps, fencedTransaction, type RunDeps } from '../deps.ts';
import { unusedOf } from '../policy/facts.ts';
import { findHeld, holdRecipients, recipientsOf } from '../recipients.ts';
import { awaitFinality, readFinalBundles, readFinality, untilFinalMs } from './finality.ts';

export interface Ending {
  readonly transition: Exclude<BatchTransition, 'SETUP_LANDED'>;
  /** Number of executed pipelines: the cursor on chain. */
  readonly executed: number;
  readonly failure: ExecutionFailure | null;
  /** Cause of an end that did not come from the chain. */
  readonly cause?: EndCause;
  /** Bundles of the execution as the cluster has finalized them; as they are recorded by default. */
  readonly bundles?: readonly Bundle[];
}

/**
 * Ends a batch, unless another run has taken over. A failure ends it for good: everything that it decides on must be
 * finalized. For a batch that reads EXECUTED, a failure means that a fork has undone its execution.
 */
export async function end(deps: RunDeps, project: Project, batch: Batch, ending: Ending): Promise<void> {
  const final =
    ending.failure === null ? ending : { ...ending, bundles: await readFinalBundles(deps, batch, ending.executed) };
  const recorded = batch.status === 'EXECUTED' && final.failure !== null ? undone(final, final.failure) : final;
  await fencedTransaction(
    deps,
    async (trx) => {
      // A batch that is being executed is decided by the run that executes it.
      if (deps.run.lane === 'setup' && !(await lockUnbegun(trx, batch.id))) return;
      await recordEnd(deps, trx, project, batch, recorded);
    },
    { locksFlywheel: replacesMember(batch, recorded) },
  );
}

function undone(ending: Ending, failure: ExecutionFailure): Ending {
  const failedTxMsg = `A fork undid the execution, which could not be repeated: ${failure.failedTxMsg}`;
  return { ...ending, transition: 'EXECUTION_UNDONE', failure: { ...failure, failedTxMsg } };
}

/**
 * Jobs `expire` and `cancel`, and what replaces a member: end an open batch with the result that the chain shows. It is
 * EXECUTED if all of its pipelines were executed meanwhile. Waits for its bundles in flight first; afterwards nothing
 * of it is sent again.
 */
export async function endOpen(deps: RunDeps, project: Project, batch: Batch, reason: OpenEnd): Promise<void> {
  if (isFinalStatus(batch.status)) return;
  const { multisig } = project.flywheel;
  await settleBundles(deps, batch);
  const executed = await readFinallyExecuted(deps, multisig, batch);
  const cause = causeOf(reason);
  if (executed === 'incomplete') {
    if (cause === null) throw new Error(`No node has the history of batch ${batch.id}.`);
    const startAfter = new Date(deps.clock.now().getTime() + RETRY_MS);
    const type = cause === 'expired' ? 'expire' : 'cancel';
    return deps.jobs.enqueue(deps.db, { type, batchId: batch.id, multisig: multisig.address }, { startAfter });
  }
  if (executed === batch.pipelines.length) {
    await end(deps, project, batch, { transition: 'EXECUTION_LANDED', executed, failure: null });
    return;
  }
  const failedTxMsg = typeof reason === 'string' ? END_REASONS[reason] : describeRejection(reason.rejection);
  const ending = { transition: 'ENDED_UNEXECUTED', executed, failure: { failedTxMsg } } as const;
  await end(deps, project, batch, { ...ending, ...(cause !== null && { cause }) });
}

/** Job `cancel`: ends a batch that a client has cancelled, or that the company has rejected after a bundle of it was sent. */
export async function endCancelled(deps: RunDeps, project: Project, batch: Batch): Promise<void> {
  const { reason: rejection } = await findCompanyDecision(deps.db, batch.id);
  await endOpen(deps, project, batch, rejection === null ? 'cancelled' : { rejection });
}

/** Reason for which an open batch ends; `rejection` is the company's. */
type OpenEnd = keyof typeof END_REASONS | { readonly rejection: string };

function causeOf(reason: OpenEnd): EndCause | null {
  if (typeof reason === 'object') return 'rejected';
  return reason === 'expired' || reason === 'cancelled' ? reason : null;
}

/**
 * Ends an open batch whose approval names a lost operator as the one that pays: it can never be complete. A batch that is
 * approved on chain goes on, and the recovery key pays.
 * @returns true if the batch has ended.
 */
export async function endUnpayable(deps: RunDeps, project: Project, batch: Batch): Promise<boolean> {
  const { multisig } = project.flywheel;
  if (!isOperatorLost(multisig) || isFinalStatus(batch.status)) return false;
  if (await isNonceOf(deps.db, batch.id, multisig.operator)) return false;
  await settleBundles(deps, batch);
  const final = await awaitFinality(deps, multisig, batch);
  if (final !== 'incomplete' && final.status === 'Approved') return false;
  await endOpen(deps, project, batch, 'unpayable');
  return true;
}

/**
 * Ends a batch that is not set up if its project is not served. HTTP processes refuse such a batch too, but they write the rows
 * of batches, and the admission may have ended since. This function therefore reads the kind of the batch from its actions, and
 * the worker's own record tells if its setup began while the project was served.
 * @returns true if the batch has ended.
 */
export async function endUnadmitted(deps: RunDeps, project: Project, batch: Batch): Promise<boolean> {
  if (isServed(deps, project) || kindOf(batch) !== 'pipelines') return false;
  const located = { multisig: project.flywheel.multisig.address, batchIndex: batch.batchIndex };
  if (batch.status !== 'AVAILABLE_TO_QUEUE' && (await wasSetupRecorded(deps.db, located))) return false;
  await endOpen(deps, project, batch, 'unadmitted');
  return true;
}

/** A node that lacks a part of the history rarely has it sooner. */
const RETRY_MS = 15_000;

async function readFinallyExecuted(deps: RunDeps, multisig: Multisig, batch: Batch): Promise<number | 'incomplete'> {
  // Without a bundle of its execution only a restored database can be wrong, about what was finalized long ago. Such a
  // batch may also seem not to be set up yet.
  const hasBegun = (await findBundles(deps.db, batch.id, 'execution')).length > 0;
  const read = hasBegun ? awaitFinality : readFinality;
  const first = await read(deps, multisig, batch);
  // The multisig of a new project is finalized soon.
  const isUnseen = first !== 'incomplete' && first.status === 'Unseen';
  const final = isUnseen ? await awaitFinality(deps, multisig, batch) : first;
  if (final === 'incomplete') return final;
  // The index may be that of another batch, which a restored database has forgotten.
  const mayBeOther = batch.status === 'AVAILABLE_TO_QUEUE' && final.status !== 'Closed' && final.executed > 0;
  const mismatch = mayBeOther ? await findMismatchedPipeline(deps, multisig, batch, 'finalized') : null;
  if (mismatch === 'unseen') return 'incomplete';
  return mismatch === null ? final.executed : 0;
}

/**
 * A batch ends with its fifth approval that failed on chain. A wallet that means well has one rarely, and signs again. Five
 * cost the operator at most 575,000 lamports, less than what is reserved at the default prices for the execution of one pipeline.
 */
export const MAX_FAILED_APPROVALS = 5;

/** Sentences for ends that did not come from the chain. */
export const END_REASONS = {
  expired: 'The batch expired.',
  cancelled: 'The batch was cancelled.',
  overtaken:
    'A member of the multisig was replaced before this batch was approved, which made it stale. Send it as a new batch.',
  unpayable:
    'The key of the operator that pays for its approval is lost. Nothing was executed; send it as a new batch.',
  unapprovable: `Its approval failed on chain ${MAX_FAILED_APPROVALS} times. Nothing was executed; send it as a new batch, and sign it without instructions that may fail.`,
  unadmitted:
    'The company does not admit this project. Nothing was executed; send it as a new batch when the company has admitted the project.',
} as const;

/**
 * Stores the end of a batch with its results, releases unused amounts of the daily limits, and enqueues the closing of
 * its accounts. An executed rotation replaces the member. Changes nothing if the batch had ended before.
 */
export async function recordEnd(
  { jobs, chain, clock, log }: Deps,
  trx: Db,
  project: Project,
  batch: Batch,
  { transition, executed, failure, cause, bundles }: Ending,
): Promise<void> {
  const setup = await findBundles(trx, batch.id, 'setup');
  const execution = bundles ?? (await findBundles(trx, batch.id, 'execution'));
  const heldRecipients = await findHeldAtEnd({ db: trx, clock }, project, batch, executed, failure?.failedRecipient);
  const executeResult = {
    ...executeResultOf(batch, { bundles: execution, executed, failure }),
    ...(heldRecipients.length > 0 && { heldRecipients }),
  };
  const initResult =
    batch.initResult ?? initResultOf(batch, { bundles: setup, failedTxMsg: failure?.failedTxMsg ?? null });
  const released = dailyTotals(batch.pipelines.slice(executed), project.token);
  const ended = { transition, ...(cause && { cause }), initResult, executeResult, released };
  // A restored database may have forgotten the setup of what was executed.
  const isForgotten = transition === 'EXECUTION_LANDED' && batch.status === 'AVAILABLE_TO_QUEUE';
  if (isForgotten) await finalizeBatch(trx, batch.id, initResult, clock.now());
  if (!(await endBatch(trx, batch.id, ended, clock.now()))) return;
  if (transition !== 'EXECUTION_LANDED') {
    await releasePolicyUses(trx, batch.id, unusedOf(batch.pipelines, executed, project.token));
  }
  // A batch of which nothing was executed has no marks, unless a fork has undone what was.
  if (executed > 0 || transition === 'EXECUTION_UNDONE') {
    await recordTokenAccounts({ clock }, trx, project, batch, executed);
  }
  await recordRecipients({ clock }, trx, batch, executed, failure?.failedRecipient);
  if (replacesMember(batch, { transition })) {
    await replaceMember(trx, batch.flywheelId, replacementOf(batch));
    // Their accounts stayed open while their rent would have gone to a lost operator.
    if (isOperatorLost(project.flywheel.multisig)) {
      for (const batchId of await findUnclosedIds(trx, batch.flywheelId)) {
        await jobs.enqueue(trx, { type: 'close', batchId, multisig: project.flywheel.multisig.address });
      }
    }
  }
  const close = { type: 'close', batchId: batch.id, multisig: project.flywheel.multisig.address } as const;
  // An execution is shown before it is final, but that of a rotation. Nothing can be closed earlier.
  const isShownEarly = transition === 'EXECUTION_LANDED' && batch.kind !== 'rotation';
  const waitMs = isShownEarly ? await untilFinalMs({ chain, db: trx }, batch, 'execution') : null;
  await jobs.enqueue(trx, close, waitMs === null ? {} : { startAfter: new Date(clock.now().getTime() + waitMs) });
  log.info(
    { batchId: batch.id, event: transition, executed, pipelines: batch.pipelines.length, ...failure },
    'batch ended',
  );
}

function replacesMember({ kind }: Batch, { transition }: Pick<Ending, 'transition'>): boolean {
  return kind === 'rotation' && transition === 'EXECUTION_LANDED';
}

/** Records which token accounts the executed pipelines of a batch have created, so that none is paid for again soon. */
export async function recordTokenAccounts(
  { clock }: Pick<Deps, 'clock'>,
  trx: Db,
  { token }: Project,
  { id, pipelines }: Batch,
  executed: number,
): Promise<void> {
  const { tokenAccounts } = requirements(pipelines.slice(0, executed), token);
  const addresses = tokenAccounts.map(({ address }) => address);
  await markTokenAccountsCreated(trx, id, addresses, clock.now());
}

/**
 * Lists the recipients of unexecuted pipelines who are held back once this batch has ended. They are part of its result, so
 * that whoever sends the rest separates it in the same way each time.
 */
async function findHeldAtEnd(
  deps: Pick<Deps, 'db' | 'clock'>,
  project: Project,
  { pipelines }: Batch,
  executed: number,
  failed: RecipientFailure | undefined,
): Promise<Address[]> {
  const held = new Set((await findHeld(deps, project, pipelines.slice(executed))).keys());
  for (const paid of pipelines.slice(0, executed).flatMap(recipientsOf)) held.delete(paid);
  if (failed) held.add(address(failed.recipient));
  return [...held].sort();
}

/** Releases the recipients that were paid, and holds back the one that made the batch fail. */
async function recordRecipients(
  { clock }: Pick<Deps, 'clock'>,
  trx: Db,
  batch: Batch,
  executed: number,
  failed: RecipientFailure | undefined,
): Promise<void> {
  await releaseRecipients(trx, batch.projectId, batch.pipelines.slice(0, executed).flatMap(recipientsOf));
  if (!failed) return;
  const issue = { recipient: address(failed.recipient), message: failed.reason };
  await holdRecipients({ db: trx, clock }, batch, [issue]);
}
