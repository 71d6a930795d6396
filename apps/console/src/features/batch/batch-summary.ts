import {
  type BatchDetail,
  type BatchKind,
  type BatchProgress,
  type BatchRow,
  type EndCause,
  isFinalStatus,
  type Ledger,
} from '@flywheel/api';
import type { DescribedInstruction } from '@flywheel/protocol';
import { totalTokens } from '@flywheel/sdk';
import type { Status } from '../../ui/status.ts';

/** Status of a batch for display. */
export interface BatchState {
  readonly state: Status;
  readonly word: string;
  /** Share of the progress ring that is closed, 0 to 1. */
  readonly closed: number;
}

interface BatchStateInput
  extends Pick<BatchRow, 'status' | 'endCause' | 'waitsFor' | 'executedPipelines' | 'pipelines'> {
  /** An issue keeps the batch from going on. */
  readonly isBlocked: boolean;
  /** The person owns the project, so that the batch waits for this person's wallet. */
  readonly isOwner: boolean;
}

/** Derives the state of a batch from its details. */
export function deriveBatchState(detail: BatchDetail, isOwner: boolean): BatchState {
  const { batch, waitsFor, executedPipelines, pipelines, failure } = detail;
  return batchState({
    isOwner,
    status: batch.status,
    endCause: batch.endCause,
    waitsFor,
    executedPipelines,
    pipelines: pipelines.length,
    isBlocked: failure !== undefined && !failure.isFinal,
  });
}

/** Share of the ring per step; after the approval it closes pipeline by pipeline. */
const CLOSED = { compiled: 0.12, setUp: 0.35, approved: 0.5 } as const;

/** Names the state of a batch, or what it waits for. */
export function batchState(input: BatchStateInput): BatchState {
  const { status, endCause = 'failed', waitsFor, executedPipelines, pipelines, isBlocked, isOwner } = input;
  const executed = pipelines === 0 ? 0 : executedPipelines / pipelines;
  const executing = CLOSED.approved + (1 - CLOSED.approved) * executed;
  if (status === 'EXECUTED') return { state: 'done', word: 'Executed', closed: 1 };
  // It may have failed in any step before the first execution, so that its ring shows only what was executed.
  if (status === 'FAILED') return { state: 'failed', word: END_WORDS[endCause], closed: executed };
  switch (waitsFor) {
    case 'setup':
      return isBlocked
        ? { state: 'waiting', word: 'Blocked', closed: CLOSED.compiled }
        : { state: 'running', word: 'Setting up', closed: CLOSED.compiled };
    case 'wallet':
      return { state: 'waiting', word: isOwner ? 'Waiting for you' : 'Waiting for the wallet', closed: CLOSED.setUp };
    case 'company':
      return { state: 'waiting', word: 'Waiting for the company', closed: CLOSED.setUp };
    case 'execution':
    case 'close':
    case 'nothing':
      return isBlocked
        ? { state: 'waiting', word: 'Blocked', closed: executing }
        : { state: 'running', word: 'Executing', closed: executing };
    default:
      return waitsFor satisfies never;
  }
}

/** Why a batch has ended with the status `FAILED`. A fork can undo what was executed. */
const END_WORDS = {
  executed: 'Failed',
  failed: 'Failed',
  expired: 'Expired',
  cancelled: 'Cancelled',
  rejected: 'Rejected',
} as const satisfies Record<EndCause, string>;

/** Name of a kind of batch. */
export function batchKindName(kind: BatchKind = 'pipelines'): string {
  switch (kind) {
    case 'pipelines':
      return 'Batch';
    case 'withdrawal':
      return 'Withdrawal';
    case 'rotation':
      return 'Rotation';
    default:
      return kind satisfies never;
  }
}

interface BatchTotals {
  /** Whole tokens, decimal. */
  readonly burned: string;
  readonly airdropped: string;
  readonly counts: { readonly burns: number; readonly airdrops: number; readonly memos: number };
}

/** Adds up what pipelines burn and airdrop; exact. */
export function totalsOf(pipelines: readonly { readonly actions: readonly BatchAction[] }[]): BatchTotals {
  const names = pipelines.flatMap(({ actions }) => actions.map(({ action }) => action));
  const count = (name: BatchAction['action']) => names.filter((each) => each === name).length;
  const { burned, airdropped } = totalTokens(pipelines);
  return { burned, airdropped, counts: { burns: count('BURN'), airdrops: count('AIRDROP'), memos: count('MEMO') } };
}

/** Says how far the amounts of a batch in a list are from done; null once the batch is executed. */
export function amountStage(status: BatchRow['status']): 'planned' | 'requested' | null {
  switch (status) {
    case 'AVAILABLE_TO_QUEUE':
    case 'FINALIZED':
      return 'planned';
    case 'EXECUTED':
      return null;
    case 'FAILED':
      // It may have executed some of its pipelines; its own screen shows which.
      return 'requested';
    default:
      return status satisfies never;
  }
}

/** Says how far a withdrawal is, for a label beside its amount. */
export const WITHDRAWAL_NAMES = {
  AVAILABLE_TO_QUEUE: 'To withdraw',
  FINALIZED: 'To withdraw',
  EXECUTED: 'Withdrawn',
  FAILED: 'Withdrawal requested',
} as const satisfies Record<BatchRow['status'], string>;

/** True for a batch of pipelines, which alone burns and airdrops. */
export function hasPipelines({ kind = 'pipelines' }: { readonly kind?: BatchKind | undefined }): boolean {
  return kind === 'pipelines';
}

/** Unit of a withdrawn amount. `unit` is that of the project's token. */
export function withdrawnUnit(asset: 'SOL' | 'TOKEN', unit: string): string {
  return asset === 'SOL' ? 'SOL' : unit;
}

/** Splits what the operator has paid for a batch in a list: for good, and rent that comes back. */
export function costOfRow({
  operatorLamports,
  lockedLamports,
  waitsFor,
}: Pick<BatchRow, 'operatorLamports' | 'lockedLamports' | 'waitsFor'>): OperatorCost {
  // Once everything is closed, rent that is still out has become a cost.
  const locked = waitsFor === 'nothing' ? 0n : BigInt(lockedLamports);
  return { paidLamports: BigInt(operatorLamports) - locked, lockedLamports: locked };
}

interface OperatorCost {
  /** Fees and tips. */
  readonly paidLamports: bigint;
  /** Rent, until the accounts close. */
  readonly lockedLamports: bigint;
}

/** Splits what the operator has paid for an open batch: fees and tips, and rent that is locked until its accounts close. */
export function costSoFar(
  ledger: Pick<Ledger, 'feeLamports' | 'tipLamports' | 'rentOutLamports' | 'rentBackLamports'>,
): OperatorCost {
  const { feeLamports, tipLamports, rentOutLamports, rentBackLamports } = ledger;
  return {
    paidLamports: BigInt(feeLamports) + BigInt(tipLamports),
    lockedLamports: BigInt(rentOutLamports) - BigInt(rentBackLamports),
  };
}

/** An action of a batch; only the console creates withdrawals and rotations. */
export type BatchAction = PipelineRecord['actions'][number];

export type PipelineRecord = BatchDetail['pipelines'][number];

/** A pipeline of a batch, or one still being composed, which has no proof, instructions or state yet. */
export interface ShownPipeline extends Partial<Omit<PipelineRecord, 'type' | 'payload' | 'actions'>> {
  readonly type: string;
  readonly payload: string;
  readonly actions: readonly BatchAction[];
  /** Its instructions on chain, shown instead of those that the service names. */
  readonly onChain?: readonly DescribedInstruction[];
}

/** Stage of a batch on the approval screen; `wallet` means that the wallet can sign now. */
export type ApprovalStage = 'settingUp' | 'wallet' | 'company' | 'executing' | 'over';

/** Derives the stage that the approval screen shows. */
export function approvalStage({ batch, waitsFor }: Pick<BatchProgress, 'batch' | 'waitsFor'>): ApprovalStage {
  if (isFinalStatus(batch.status)) return 'over';
  switch (waitsFor) {
    case 'setup':
      return 'settingUp';
    case 'wallet':
      return 'wallet';
    case 'company':
      return 'company';
    case 'execution':
      return 'executing';
    case 'close':
    case 'nothing':
      return 'over';
    default:
      return waitsFor satisfies never;
  }
}
