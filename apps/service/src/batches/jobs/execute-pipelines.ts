import { isFinalStatus, type RecipientFailure } from '@flywheel/api';
import { type InstructionGroup, planTransactions } from '@flywheel/squads';
import { MAX_COMPUTE_UNIT_LIMIT } from '@solana-program/compute-budget';
import type { Batch, ExecutionIssue } from '../../model/batch.ts';
import type { Multisig, Project } from '../../model/project.ts';
import { isCausedByPipeline, isShortOfFunds } from '../../model/transaction-error.ts';
import type { Simulation } from '../../solana/chain.ts';
import { type SignedTransaction, signTransaction } from '../../solana/transactions.ts';
import { batchExecutionGroup } from '../../squads/groups.ts';
import { requireUncancelled } from '../../store/batches/cancellations.ts';
import { askCompany } from '../../store/batches/company-approvals.ts';
import { hasExecutionBegun } from '../../store/batches/executions.ts';
import { requireUnpaused } from '../../store/company/pauses.ts';
import { assembleBundle, operatorLimits, simulationLimits } from '../bundles/assemble-bundle.ts';
import { type FlightWindow, openWindow, withFlight } from '../bundles/flight.ts';
import { type BundleToSend, type Landing, resumeBundles, settleBundles } from '../bundles/land.ts';
import { findFailedRecipient } from '../check/failed-recipient.ts';
import { describeMissingFunds, readFunds } from '../check/funds.ts';
import { simulatePipelines } from '../check/simulate.ts';
import { fencedTransaction, type RunDeps } from '../deps.ts';
import { approve, type Unapproved } from './approve.ts';
import { awaitSetup, executeAfterSetup } from './await-setup.ts';
import { drainBatches } from './drain.ts';
import { type Ending, end } from './end.ts';
import { OWN_ISSUE, releaseRequest, reschedule } from './execution-issues.ts';
import { awaitFinality } from './finality.ts';
import { readProgress } from './progress.ts';

/** After this many bundles in a row that neither landed nor failed with a reason, the job is rescheduled. */
const MAX_LOST_BUNDLES = 5;

/**
 * Job `execute`: approves a batch and executes its pipelines to the end. It may be repeated at any time and by any
 * process: the cursor on chain says which pipelines are left, and the chain never executes a pipeline twice.
 * @throws Paused, Cancelled, Ended
 */
export async function executePipelines(deps: RunDeps, project: Project, batch: Batch): Promise<void> {
  if (batch.status === 'AVAILABLE_TO_QUEUE') return executeAfterSetup(deps, project, batch);
  if (isFinalStatus(batch.status) || batch.signedTx === null) return;
  // Manual approval pending: the approver's decision enqueues execution, so stop here.
  if (await fencedTransaction(deps, (trx) => askCompany(trx, batch.id, deps.clock.now()))) return;
  if (batch.kind === 'rotation' && !(await hasExecutionBegun(deps.db, batch.id))) {
    // A pause keeps the other batches from being approved, and ends none.
    await fencedTransaction(deps, (trx) => requireUnpaused(trx, batch.flywheelId));
    if (!(await drainBatches(deps, project, batch))) return;
  }
  const outcome = await runPipelines(deps, project, batch);
  switch (outcome.kind) {
    case 'stopped':
    case 'awaits company':
      return;
    case 'unapproved':
      return releaseRequest(deps, project, batch, outcome.issue);
    case 'delayed':
      return reschedule(deps, project, batch, outcome.issue, outcome.until);
    case 'ended':
      break;
    default:
      throw outcome satisfies never;
  }
  const { ending } = outcome;
  // A rotation changes who approves, so it is not shown before it is final.
  if (batch.kind === 'rotation' && ending.transition === 'EXECUTION_LANDED') {
    const final = await awaitFinality(deps, project.flywheel.multisig, batch);
    if (final === 'incomplete' || final.executed === 0) return reschedule(deps, project, batch, OWN_ISSUE);
  }
  await end(deps, project, batch, ending);
}

/** Outcome of a run of an execution. */
export type RunOutcome =
  /** Every pipeline is executed, or one has failed for good. */
  | { readonly kind: 'ended'; readonly ending: Ending }
  /** It must be tried again, because of this issue. */
  | { readonly kind: 'delayed'; readonly issue: ExecutionIssue; readonly until?: Date }
  | Unapproved
  | { readonly kind: 'stopped' | 'awaits company' };
type Ended = Extract<RunOutcome, { kind: 'ended' }>;
type Delayed = Extract<RunOutcome, { kind: 'delayed' }>;

/**
 * Sends what is left of an execution until every pipeline is executed, at commitment `confirmed`, or one has failed for
 * good, at `finalized`. What a fork took away is sent again, setup included.
 * @throws Paused, Cancelled, Ended
 */
export async function runPipelines(deps: RunDeps, project: Project, batch: Batch): Promise<RunOutcome> {
  const { multisig } = project.flywheel;
  // Not those of the setup: one that was lost may be in flight for another minute, and changes nothing that is on chain.
  await resumeBundles(deps, batch, 'execution');
  const known: Known = { computeUnits: new Map(), window: openWindow() };
  let singleUntil = 0;
  for (let lost = 0; ; ) {
    const { status, executed, approved } = await readProgress(deps, multisig, batch);
    if (executed === batch.pipelines.length) {
      await settleBundles(deps, batch, 'execution');
      return { kind: 'ended', ending: { transition: 'EXECUTION_LANDED', executed, failure: null } };
    }
    if (status === 'Absent' || status === 'Draft') {
      deps.log.warn({ batchId: batch.id, status }, 'the setup is not on chain any more; setting up again');
      if (await awaitSetup(deps, project, batch)) continue;
      return { kind: 'delayed', issue: OWN_ISSUE };
    }
    if (status === 'Rejected' || status === 'Cancelled' || status === 'Closed') {
      const ended = await readUnexecutedEnd(deps, multisig, batch);
      if (ended.kind === 'undone') continue;
      return ended;
    }
    // Before the checks: while the project is paused, their issues must not show on the batch.
    await fencedTransaction(deps, (trx) => requireUnpaused(trx, batch.flywheelId));
    await requireUncancelled(deps.db, { flywheelId: batch.flywheelId, batchId: batch.id });
    const approval = status === 'Approved' ? null : await approve(deps, project, batch, { status, approved });
    switch (approval?.kind) {
      case undefined:
      case 'signed':
        break;
      case 'ended':
        return { kind: 'stopped' };
      case 'unseen':
        return { kind: 'delayed', issue: OWN_ISSUE };
      case 'overtaken':
        continue;
      case 'awaits company':
      case 'unapproved':
      case 'delayed':
        return approval;
      default:
        throw approval satisfies never;
    }
    for (const [position, units] of approval?.computeUnits ?? []) known.computeUnits.set(position, units);
    const isSingle = executed < singleUntil;
    const next: NextBundle = { start: executed, approval: approval?.transaction ?? null, isSingle, attempt: lost };
    const flown = await landPipelines(deps, project, batch, next, known);
    if (flown.kind === 'delayed') return flown;
    if (flown.kind === 'landed' || flown.start > executed) lost = 0;
    if (flown.kind === 'landed') continue;
    const failure = await explainFailure(deps, project, batch, flown);
    if (failure === null) {
      lost += 1;
      if (lost > MAX_LOST_BUNDLES) return { kind: 'delayed', issue: OWN_ISSUE };
      // Over RPC, a transaction that would fail lands and fails. An engine drops the whole bundle, and does not say why.
      if (flown.landing.state === 'failed' || deps.bundles.isAtomic) singleUntil = Math.max(singleUntil, flown.end);
      continue;
    }
    if (failure.isTemporary) return { kind: 'delayed', issue: failure.issue };
    // A bundle that was given up may have landed after all, and a fork may take the failure away.
    await settleBundles(deps, batch);
    const final = await awaitFinality(deps, multisig, batch);
    if (final === 'incomplete') return { kind: 'delayed', issue: OWN_ISSUE };
    if (final.executed !== failure.pipeline || final.status !== 'Approved') continue;
    const described = {
      failedTxMsg: failure.message,
      failedOnTransactionIndex: failure.pipeline,
      failedStartTransactionIndex: executed,
      ...(failure.recipient && { failedRecipient: failure.recipient }),
    };
    return {
      kind: 'ended',
      ending: { transition: 'EXECUTION_FAILED', executed: failure.pipeline, failure: described },
    };
  }
}

/** Reads the end of a batch whose proposal was rejected, cancelled or closed. `undone` if a fork took that away. */
async function readUnexecutedEnd(
  deps: RunDeps,
  multisig: Multisig,
  batch: Batch,
): Promise<Ended | Delayed | { readonly kind: 'undone' }> {
  await settleBundles(deps, batch);
  const final = await awaitFinality(deps, multisig, batch);
  if (final === 'incomplete') return { kind: 'delayed', issue: OWN_ISSUE };
  const { status, executed } = final;
  if (executed === batch.pipelines.length) {
    return { kind: 'ended', ending: { transition: 'EXECUTION_LANDED', executed, failure: null } };
  }
  switch (status) {
    case 'Rejected':
    case 'Cancelled':
    case 'Closed':
    case 'Foreign': {
      const word = status === 'Foreign' ? 'of another batch' : status.toLowerCase();
      const failure = { failedTxMsg: `The proposal is ${word} on chain.` };
      return { kind: 'ended', ending: { transition: 'EXECUTION_FAILED', executed, failure } };
    }
    default:
      return { kind: 'undone' };
  }
}

/** Describes the next bundle of an execution. */
interface NextBundle {
  /** Zero-based position of its first pipeline. */
  readonly start: number;
  /** First transaction of the bundle; null when the approval is on chain already. */
  readonly approval: SignedTransaction | null;
  /**
   * True after a bundle that did not land completely: the bundle then holds one pipeline, or the approval alone. This
   * finds the failing pipeline, and lets the ones before it succeed.
   */
  readonly isSingle: boolean;
  /** Number of bundles in a row that were lost. */
  readonly attempt: number;
}

/** A bundle that did not land completely. */
interface LostBundle extends NextBundle {
  readonly kind: 'lost';
  /** Position after its last pipeline. */
  readonly end: number;
  readonly landing: Landing;
}

type Flown = { readonly kind: 'landed' } | LostBundle | Delayed;

/** Facts that the bundles of an execution teach about the next ones. */
interface Known {
  /** Compute units by position of the pipeline. Units that are measured are added. */
  readonly computeUnits: Map<number, number>;
  readonly window: FlightWindow;
}

/**
 * Sends bundle after bundle from the cursor on, each when the one before is processed, and waits until they are confirmed.
 * @returns the first bundle that has not landed, or, if nothing was sent, the issue of what the vault lacks.
 */
function landPipelines(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  first: NextBundle,
  { computeUnits, window }: Known,
): Promise<Flown> {
  return withFlight<Omit<LostBundle, 'kind' | 'landing'>, Flown>(deps, window, async (flight) => {
    for (let next = first; ; ) {
      const issue = await measure(deps, project, batch, next, computeUnits);
      // Sent again and again it would cost the operator a fee each time, until the batch expires.
      if (issue !== null && next === first) return { kind: 'delayed', issue };
      // Behind other bundles, a pipeline that seems to fail may need them. It is judged when it is the very next one.
      if (!computeUnits.has(next.start) && next !== first) break;
      const { end, bundle } = await prepareBundle(deps, project, batch, next, computeUnits);
      const mayFollow = await flight.send(bundle, { ...next, end });
      if (!mayFollow || next.isSingle || end === batch.pipelines.length) break;
      next = { start: end, approval: null, isSingle: false, attempt: 0 };
    }
    const lost = await flight.land();
    return lost === null ? { kind: 'landed' } : { kind: 'lost', ...lost.content, landing: lost.landing };
  });
}

/**
 * Simulates those of the next pipelines whose compute units are not known, and adds their units.
 * @returns what the vault lacks if the very next one fails for that, otherwise null.
 */
async function measure(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  next: NextBundle,
  computeUnits: Map<number, number>,
): Promise<ExecutionIssue | null> {
  const unmeasured = positionsOf(deps, batch, next).filter((position) => !computeUnits.has(position));
  if (unmeasured.length === 0) return null;
  const simulations = await simulatePipelines(deps, project.flywheel.multisig, batch.pipelines, unmeasured);
  for (const [position, units] of simulations.computeUnits) computeUnits.set(position, units);
  const [first] = simulations.failures;
  return first?.pipeline === next.start ? findShortage(deps, project, batch, next.start, first.err) : null;
}

/** Signs as many of the next pipelines as one bundle holds. `end` is the position after its last pipeline. */
async function prepareBundle(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  next: NextBundle,
  computeUnits: ReadonlyMap<number, number>,
): Promise<{ readonly bundle: BundleToSend; readonly end: number }> {
  const { multisig } = project.flywheel;
  const { start, isSingle, attempt } = next;
  const groups = executionGroups(multisig, batch, positionsOf(deps, batch, next), computeUnits);
  const terms = await deps.bundles.terms(multisig.lookupTable.addresses, attempt);
  const signed = approvalOf(next);
  const limits = operatorLimits(multisig, 'execution', terms, { isCareful: isSingle, taken: signed.length });
  const left = planTransactions(groups, limits);
  const { maxTransactions } = deps.bundles;
  const { planned, ...bundle } = await assembleBundle(deps, left, { maxTransactions, signed, attempt });
  const counts = planned.map(({ groupCount }) => groupCount);
  return {
    bundle: {
      ...bundle,
      batchId: batch.id,
      phase: 'execution',
      firstPipeline: start,
      pipelineCounts: [...signed.map(() => 0), ...counts],
    },
    end: start + counts.reduce((sum, count) => sum + count, 0),
  };
}

/**
 * Builds the instructions of the next pipelines, up to the first one whose simulation failed, so that it does not take
 * the ones before it down with it. If the very next one failed, it is sent alone, and the chain decides.
 */
function executionGroups(
  multisig: Multisig,
  batch: Batch,
  positions: readonly number[],
  computeUnits: ReadonlyMap<number, number>,
): InstructionGroup[] {
  const firstFailing = positions.findIndex((position) => !computeUnits.has(position));
  const sent = firstFailing === -1 ? positions : positions.slice(0, Math.max(firstFailing, 1));
  return sent.map((position) =>
    batchExecutionGroup(multisig, batch, position, computeUnits.get(position) ?? MAX_COMPUTE_UNIT_LIMIT),
  );
}

/** A pipeline takes at least three of the 64 traced instructions: its execution, its proof memo and an action. */
const MAX_PIPELINES_PER_TRANSACTION = 21;

/** Lists the positions of the pipelines that the next bundle may hold, at most. */
function positionsOf({ bundles }: RunDeps, { pipelines }: Batch, next: NextBundle): number[] {
  const { start, isSingle } = next;
  const signed = approvalOf(next).length;
  const room = isSingle ? 1 - signed : (bundles.maxTransactions - signed) * MAX_PIPELINES_PER_TRANSACTION;
  return pipelines.slice(start, start + room).map((_, i) => start + i);
}

function approvalOf({ approval }: NextBundle): readonly SignedTransaction[] {
  return approval === null ? [] : [approval];
}

type Failure =
  /** Trying again later may succeed, e.g. after a deposit. */
  | { readonly isTemporary: true; readonly issue: ExecutionIssue }
  /** This pipeline fails whenever it is tried. */
  | {
      readonly isTemporary: false;
      readonly pipeline: number;
      readonly message: string;
      /** The recipient that causes it; null for other causes. */
      readonly recipient: RecipientFailure | null;
    };

/**
 * Finds out why a bundle did not land completely. Null when it should simply be sent again: its blockhash expired, or it
 * held several pipelines and the failing one is not known yet.
 */
async function explainFailure(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  { start, approval, isSingle, landing }: LostBundle,
): Promise<Failure | null> {
  // A bundle with only the approval executes no pipeline, so no pipeline has failed.
  if (!isSingle || approval !== null) return null;
  const { executed: pipeline, status } = await readProgress(deps, project.flywheel.multisig, batch);
  // The cursor has moved on: an earlier bundle with this pipeline landed, and this one failed as its repetition.
  if (pipeline > start || status !== 'Approved') return null;
  const { err, logs } =
    landing.state === 'failed'
      ? { err: landing.err, logs: await deps.chain.transactionLogs(landing.signature) }
      : await simulatePipeline(deps, project, batch, pipeline);
  if (err === null) return null;
  const issue = await findShortage(deps, project, batch, pipeline, err);
  if (issue !== null) return { isTemporary: true, issue };
  if (!isCausedByPipeline(err)) return { isTemporary: true, issue: OWN_ISSUE };
  // The vault may have received meanwhile what it lacked.
  if (isShortOfFunds(err) && (await simulatePipeline(deps, project, batch, pipeline)).err === null) return null;
  const recipient = await findFailedRecipient(deps, project, batch, { pipeline, err, logs });
  return { isTemporary: false, pipeline, message: `pipelines[${pipeline}] failed on chain: ${err}`, recipient };
}

async function simulatePipeline(
  deps: RunDeps,
  { flywheel: { multisig } }: Project,
  batch: Batch,
  position: number,
): Promise<Pick<Simulation, 'err' | 'logs'>> {
  const group = batchExecutionGroup(multisig, batch, position, MAX_COMPUTE_UNIT_LIMIT);
  const [planned] = planTransactions([group], simulationLimits(multisig));
  if (!planned) throw new Error('The execution of a pipeline takes one transaction.');
  const { wire } = await signTransaction(planned.message, await deps.chain.latestBlockhash(), [deps.operator]);
  return deps.chain.simulate(wire, { sigVerify: false, replaceRecentBlockhash: true });
}

/** Describes what the vault lacks for the pipelines from this position on; null if an error has another cause. */
async function findShortage(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  firstPosition: number,
  err: string,
): Promise<ExecutionIssue | null> {
  if (!isShortOfFunds(err)) return null;
  const pipelines = batch.pipelines.slice(firstPosition);
  const funds = await readFunds(deps, project, pipelines);
  const problems = describeMissingFunds(funds, project, pipelines, firstPosition);
  return problems.length === 0 ? null : { code: 'ERR_VAULT_UNDERFUNDED', context: { problems } };
}
