import { isFinalStatus, type TimelineStep } from '@flywheel/api';
import { pluralize, SOL_DECIMALS, toDecimal } from '@flywheel/protocol';
import type { Project } from '../../model/project.ts';
import type { PartialApproval } from '../../store/batches/batch-records.ts';
import type { SentBundle } from '../../store/batches/bundles.ts';
import type { BatchDetails } from './details.ts';
import { describeFailedTx } from './failure.ts';

/** A step in the life of a batch. */
export interface Step extends Pick<TimelineStep, 'step' | 'state' | 'signatures'> {
  /** Time at which it was done or failed. */
  readonly at: Date | null;
  readonly note: string | null;
}

/** Builds the timeline of a batch: all steps in order, past and future. */
export function buildTimeline(details: BatchDetails, project: Pick<Project, 'approvalMode'>): readonly Step[] {
  const { record } = details;
  const steps = [
    compiled(details),
    setUp(details),
    walletApproval(details),
    companyApproval(details, project),
    executed(details),
  ];
  const current = steps.findIndex(({ isDone }) => !isDone);
  const hasFailed = record.status === 'FAILED';
  const shown = steps.map(({ isDone, whenCurrent, step, at, note, signatures }, i): Step => {
    if (isDone) return { step, state: 'done', at, note, signatures };
    // The company can be asked before the setup has finished.
    const isNow = i === current || (step === 'companyApproval' && whenCurrent === 'waiting');
    if (!hasFailed) return { step, state: isNow ? whenCurrent : 'upcoming', at: null, note, signatures };
    if (i !== current) return { step, state: 'skipped', at: null, note: null, signatures };
    const why = record.executeResult?.failedTxMsg ?? record.initResult?.failedTxMsg ?? null;
    return {
      step,
      state: 'failed',
      at: at ?? record.endedAt,
      note: note ?? (why && describeFailedTx(why).message),
      signatures,
    };
  });
  return [...shown, rentReturned(details)];
}

/** A step without its final state. `whenCurrent` is its state while it is the first step that is not done. */
interface DraftStep extends Omit<Step, 'state'> {
  readonly isDone: boolean;
  readonly whenCurrent: 'running' | 'waiting';
}

function compiled({ record: { createdAt, pipelineCount, actions } }: BatchDetails): DraftStep {
  const actionCount = actions.burn + actions.airdrop + actions.memo;
  const note = `${pluralize(pipelineCount, 'pipeline')}${actionCount > 0 ? `, ${pluralize(actionCount, 'action')}` : ''}`;
  return { step: 'compiled', isDone: true, whenCurrent: 'running', at: createdAt, note, signatures: [] };
}

function setUp({ record, bundles }: BatchDetails): DraftStep {
  const ofSetup = bundles.filter(({ phase }) => phase === 'setup');
  const signatures = ofSetup.flatMap(({ landedSignatures }) => landedSignatures);
  const { status, finalizedAt, initResult } = record;
  const isOpenAndSetUp = status === 'FINALIZED' || status === 'EXECUTED';
  // Batches of older releases have only the result.
  const isDone = finalizedAt !== null || isOpenAndSetUp || (status === 'FAILED' && initResult?.totalFailed === 0);
  return {
    step: 'setUp',
    isDone,
    whenCurrent: 'running',
    at: isDone ? (finalizedAt ?? lastSettled(ofSetup)) : null,
    note: signatures.length > 0 ? pluralize(signatures.length, 'transaction') : null,
    signatures,
  };
}

function walletApproval(details: BatchDetails): DraftStep {
  const { signedTx, signedAt } = details.record;
  const isDone = signedTx !== null || isApproved(details);
  const { signatures } = approvalOf(details);
  return {
    step: 'walletApproval',
    isDone,
    whenCurrent: 'waiting',
    at: isDone ? signedAt : null,
    note: null,
    signatures,
  };
}

/** The company votes in the transaction of the execution, unless a person decides. */
function companyApproval(details: BatchDetails, { approvalMode }: Pick<Project, 'approvalMode'>): DraftStep {
  const { company, partialApproval, kind, status } = details.record;
  const { signatures, settledAt } = approvalOf(details);
  const step = { step: 'companyApproval', signatures } as const;
  if (company.decidedAt !== null && company.operator !== null) {
    const isDone = company.reason === null;
    const note = isDone ? `By ${company.operator}` : `Rejected by ${company.operator}: ${company.reason}`;
    return { ...step, isDone, whenCurrent: 'waiting', at: company.decidedAt, note };
  }
  if (company.askedAt !== null) {
    const note = partialApproval && describePartialApproval(partialApproval);
    return { ...step, isDone: false, whenCurrent: 'waiting', at: null, note };
  }
  const isDone = isApproved(details);
  const byPerson = (approvalMode === 'manual' || kind !== 'pipelines') && !isDone && !isFinalStatus(status);
  const note = byPerson ? 'By a person of the company' : 'With the execution';
  return { ...step, isDone, whenCurrent: 'running', at: isDone ? settledAt : null, note };
}

function describePartialApproval({ operator, approvals: { given, required } }: PartialApproval): string {
  return `${given} of ${required} operators have approved: ${operator}`;
}

function executed({ record, bundles, executed: count }: BatchDetails): DraftStep {
  const { status, endedAt, pipelineCount } = record;
  const signatures = bundles
    .filter(({ phase }) => phase === 'execution')
    .flatMap(({ signatures: sent, landedSignatures, pipelineCounts }) => {
      const executing = new Set(sent.filter((_, i) => pipelineCounts[i] !== 0));
      return landedSignatures.filter((signature) => executing.has(signature));
    });
  const isDone = status === 'EXECUTED';
  const hasBegun = count > 0 || record.hasBegun;
  const note = hasBegun ? `${count} of ${pluralize(pipelineCount, 'pipeline')}` : null;
  return { step: 'executed', isDone, whenCurrent: 'running', at: isDone ? endedAt : null, note, signatures };
}

function rentReturned(details: BatchDetails): Step {
  const { record, bundles, ledger } = details;
  const signatures = bundles
    .filter(({ phase }) => phase === 'close')
    .flatMap(({ landedSignatures }) => landedSignatures);
  const step = { step: 'rentReturned', signatures } as const;
  if (record.closedAt !== null) {
    const rentBack = ledger.entries.reduce((sum, { rentBackLamports }) => sum + rentBackLamports, 0n);
    return { ...step, state: 'done', at: record.closedAt, note: `${toDecimal(rentBack, SOL_DECIMALS)} SOL` };
  }
  if (!isFinalStatus(record.status)) return { ...step, state: 'upcoming', at: null, note: null };
  if (record.status === 'FAILED' && isApproved(details)) {
    return { ...step, state: 'waiting', at: null, note: 'An approved batch also needs the wallet’s cancel vote' };
  }
  return { ...step, state: 'running', at: null, note: null };
}

/** Checks whether both votes are on chain. */
function isApproved(details: BatchDetails): boolean {
  return details.executed > 0 || details.record.status === 'EXECUTED' || approvalOf(details).signatures.length > 0;
}

/** Finds the landed approval: the transaction of an execution that executes no pipeline. */
function approvalOf({ bundles }: BatchDetails): { readonly signatures: string[]; readonly settledAt: Date | null } {
  const approving = bundles
    .filter(({ phase }) => phase === 'execution')
    .map((bundle) => ({
      bundle,
      signatures: bundle.signatures.filter(
        (signature, i) => bundle.pipelineCounts[i] === 0 && bundle.landedSignatures.includes(signature),
      ),
    }));
  const landed = approving.filter(({ signatures }) => signatures.length > 0);
  return {
    signatures: landed.flatMap(({ signatures }) => signatures),
    settledAt: lastSettled(landed.map(({ bundle }) => bundle)),
  };
}

function lastSettled(bundles: readonly SentBundle[]): Date | null {
  return bundles.findLast(({ landedSignatures }) => landedSignatures.length > 0)?.settledAt ?? null;
}
