import type { TimelineStep } from '@flywheel/api';
import { formatTokens } from '../../model/amount.ts';
import { isFinal } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import type { SentBundle } from '../../store/landing/bundles.ts';
import type { BatchReport } from './read-report.ts';

/** One step of a batch’s life. */
export interface Step extends Pick<TimelineStep, 'step' | 'state' | 'signatures'> {
  /** When it was done, or failed. */
  readonly at: Date | null;
  readonly note: string | null;
}

/** A batch’s life, every step of it in order, from what is known now. */
export function timelineOf(report: BatchReport, project: Pick<Project, 'approvalMode'>): readonly Step[] {
  const { record } = report;
  const facts = [compiled(report), setUp(report), walletApproval(report), companyApproval(report, project)];
  const steps = [...facts, executed(report)];
  const current = steps.findIndex(({ isDone }) => !isDone);
  const hasFailed = record.status === 'FAILED';
  const shown = steps.map(({ isDone, whenCurrent, step, at, note, signatures }, i): Step => {
    if (isDone) return { step, state: 'done', at, note, signatures };
    // The company may be asked while the batch is still being set up.
    const isNow = i === current || (step === 'companyApproval' && whenCurrent === 'waiting');
    if (!hasFailed) return { step, state: isNow ? whenCurrent : 'upcoming', at: null, note, signatures };
    if (i !== current) return { step, state: 'skipped', at: null, note: null, signatures };
    const why = record.executeResult?.failedTxMsg ?? record.initResult?.failedTxMsg ?? null;
    return { step, state: 'failed', at: at ?? record.endedAt, note: note ?? why, signatures };
  });
  return [...shown, rentReturned(report)];
}

/** What is known of a step, and how it shows while it is the first that is not done. */
interface Fact extends Omit<Step, 'state'> {
  readonly isDone: boolean;
  readonly whenCurrent: 'running' | 'waiting';
}

function compiled({ record: { createdAt, pipelineCount, actions } }: BatchReport): Fact {
  const actionCount = actions.burn + actions.airdrop + actions.memo;
  const note = `${counted(pipelineCount, 'pipeline')}${actionCount > 0 ? `, ${counted(actionCount, 'action')}` : ''}`;
  return { step: 'compiled', isDone: true, whenCurrent: 'running', at: createdAt, note, signatures: [] };
}

function setUp({ record, bundles }: BatchReport): Fact {
  const ofSetup = bundles.filter(({ phase }) => phase === 'setup');
  const signatures = ofSetup.flatMap(({ landedSignatures }) => landedSignatures);
  const { status, finalizedAt, initResult } = record;
  const isOpenAndSetUp = status === 'FINALIZED' || status === 'EXECUTED';
  // Batches of older releases say so by their result alone.
  const isDone = finalizedAt !== null || isOpenAndSetUp || (status === 'FAILED' && initResult?.totalFailed === 0);
  return {
    step: 'setUp',
    isDone,
    whenCurrent: 'running',
    at: isDone ? (finalizedAt ?? lastSettled(ofSetup)) : null,
    note: signatures.length > 0 ? counted(signatures.length, 'transaction') : null,
    signatures,
  };
}

function walletApproval(report: BatchReport): Fact {
  const { signedTx, signedAt } = report.record;
  const isDone = signedTx !== null || isApproved(report);
  const { signatures } = approvalOf(report);
  return {
    step: 'walletApproval',
    isDone,
    whenCurrent: 'waiting',
    at: isDone ? signedAt : null,
    note: null,
    signatures,
  };
}

/** By a person, or with the execution: both votes are in one transaction. */
function companyApproval(report: BatchReport, { approvalMode }: Pick<Project, 'approvalMode'>): Fact {
  const { company, kind, status } = report.record;
  const { signatures, settledAt } = approvalOf(report);
  const step = { step: 'companyApproval', signatures } as const;
  if (company.decidedAt !== null && company.operator !== null) {
    const isDone = company.reason === null;
    const note = isDone ? `By ${company.operator}` : `Rejected by ${company.operator}: ${company.reason}`;
    return { ...step, isDone, whenCurrent: 'waiting', at: company.decidedAt, note };
  }
  if (company.askedAt !== null) return { ...step, isDone: false, whenCurrent: 'waiting', at: null, note: null };
  const isDone = isApproved(report);
  const byPerson = (approvalMode === 'manual' || kind !== 'pipelines') && !isDone && !isFinal(status);
  const note = byPerson ? 'By a person of the company’s' : 'With the execution';
  return { ...step, isDone, whenCurrent: 'running', at: isDone ? settledAt : null, note };
}

function executed({ record, bundles, executed: count }: BatchReport): Fact {
  const { status, endedAt, pipelineCount } = record;
  const signatures = bundles
    .filter(({ phase }) => phase === 'execution')
    .flatMap(({ signatures: sent, landedSignatures, pipelineCounts }) => {
      const executing = new Set(sent.filter((_, i) => pipelineCounts[i] !== 0));
      return landedSignatures.filter((signature) => executing.has(signature));
    });
  const isDone = status === 'EXECUTED';
  const hasBegun = count > 0 || record.hasBegun;
  const note = hasBegun ? `${count} of ${counted(pipelineCount, 'pipeline')}` : null;
  return { step: 'executed', isDone, whenCurrent: 'running', at: isDone ? endedAt : null, note, signatures };
}

function rentReturned(report: BatchReport): Step {
  const { record, bundles, ledger } = report;
  const signatures = bundles
    .filter(({ phase }) => phase === 'close')
    .flatMap(({ landedSignatures }) => landedSignatures);
  const step = { step: 'rentReturned', signatures } as const;
  if (record.closedAt !== null) {
    const rentBack = ledger.entries.reduce((sum, { rentBackLamports }) => sum + rentBackLamports, 0n);
    return { ...step, state: 'done', at: record.closedAt, note: `${formatTokens(rentBack, SOL_DECIMALS)} SOL` };
  }
  if (!isFinal(record.status)) return { ...step, state: 'upcoming', at: null, note: null };
  if (record.status === 'FAILED' && isApproved(report)) {
    return { ...step, state: 'waiting', at: null, note: 'An approved batch needs the wallet’s cancel too' };
  }
  return { ...step, state: 'running', at: null, note: null };
}

const SOL_DECIMALS = 9;

/** The chain has both votes. */
function isApproved(report: BatchReport): boolean {
  return report.executed > 0 || report.record.status === 'EXECUTED' || approvalOf(report).signatures.length > 0;
}

/** The approval’s transaction, once it has landed: the one of an execution that executes nothing. */
function approvalOf({ bundles }: BatchReport): { readonly signatures: string[]; readonly settledAt: Date | null } {
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

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
