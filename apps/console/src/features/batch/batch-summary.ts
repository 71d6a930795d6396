import type { BatchDetail, BatchKind, BatchProgress, BatchRow } from '@flywheel/api';
import { decimalOf } from '@flywheel/sdk';
import { textOfUnits, unitsOf } from '../../lib/text/units.ts';
import type { State } from '../../ui/show/state.ts';

/** A batch's state as people read it. */
export interface BatchState {
  readonly state: State;
  readonly word: string;
  /** How far the ring is closed, 0 to 1. */
  readonly closed: number;
}

interface BatchStateInput extends Pick<BatchRow, 'status' | 'waitsFor' | 'executedPipelines' | 'pipelines'> {
  /** Something holds it up. */
  readonly isHeldUp: boolean;
}

/** Reads the state of a batch from its details. */
export function deriveBatchState({ batch, waitsFor, executedPipelines, pipelines, failure }: BatchDetail): BatchState {
  return batchState({
    status: batch.status,
    waitsFor,
    executedPipelines,
    pipelines: pipelines.length,
    isHeldUp: failure !== undefined && !failure.isFinal,
  });
}

/** The ring closes with what is done: compiled, set up, approved, then pipeline by pipeline. */
const CLOSED = { compiled: 0.12, setUp: 0.35, approved: 0.5 } as const;

/** Where a batch stands and what it waits for, in a word. */
export function batchState({ status, waitsFor, executedPipelines, pipelines, isHeldUp }: BatchStateInput): BatchState {
  const executed = pipelines === 0 ? 0 : executedPipelines / pipelines;
  const executing = CLOSED.approved + (1 - CLOSED.approved) * executed;
  if (status === 'EXECUTED') return { state: 'done', word: 'Executed', closed: 1 };
  if (status === 'FAILED') return { state: 'failed', word: 'Failed', closed: executing };
  switch (waitsFor) {
    case 'setup':
      return isHeldUp
        ? { state: 'waiting', word: 'Held up', closed: CLOSED.compiled }
        : { state: 'running', word: 'Setting up', closed: CLOSED.compiled };
    case 'wallet':
      return { state: 'waiting', word: 'Waiting for you', closed: CLOSED.setUp };
    case 'company':
      return { state: 'waiting', word: 'With the company', closed: CLOSED.setUp };
    case 'execution':
    case 'close':
    case 'nothing':
      return isHeldUp
        ? { state: 'waiting', word: 'Held up', closed: executing }
        : { state: 'running', word: 'Executing', closed: executing };
    default:
      return waitsFor satisfies never;
  }
}

/** What a batch is called. */
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

interface Totals {
  /** Whole tokens, decimal. */
  readonly burned: string;
  readonly airdropped: string;
  readonly counts: { readonly burns: number; readonly airdrops: number; readonly memos: number };
}

/** What pipelines burn and airdrop together, exactly. */
export function totalsOf(pipelines: readonly { readonly actions: readonly BatchAction[] }[]): Totals {
  let [burned, airdropped, burns, airdrops, memos] = [0n, 0n, 0, 0, 0];
  for (const action of pipelines.flatMap(({ actions }) => actions)) {
    if (action.action === 'BURN') {
      burned += unitsOf(decimalOf(action.amount));
      burns += 1;
    } else if (action.action === 'AIRDROP') {
      airdropped += unitsOf(decimalOf(action.amount));
      airdrops += 1;
    } else if (action.action === 'MEMO') memos += 1;
  }
  return {
    burned: textOfUnits(burned),
    airdropped: textOfUnits(airdropped),
    counts: { burns, airdrops, memos },
  };
}

/** What a pipeline of a batch may do; withdrawals and rotations only the console makes. */
export type BatchAction = BatchDetail['pipelines'][number]['actions'][number];

/** How far a batch is from the one who is to approve it. */
export type ApprovalStage = 'settingUp' | 'yourTurn' | 'company' | 'executing' | 'over';

/** What the approval screen has to show of a batch. */
export function approvalStage({ batch, waitsFor }: Pick<BatchProgress, 'batch' | 'waitsFor'>): ApprovalStage {
  if (batch.status === 'EXECUTED' || batch.status === 'FAILED') return 'over';
  switch (waitsFor) {
    case 'setup':
      return 'settingUp';
    case 'wallet':
      return 'yourTurn';
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
