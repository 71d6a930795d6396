import type { BatchRow } from '@flywheel/api';
import type { State } from '../../ui/show/state.ts';

/** A batch's state as people read it. */
export interface BatchState {
  readonly state: State;
  readonly word: string;
  /** How far the ring is closed, 0 to 1. */
  readonly closed: number;
}

export interface BatchStanding extends Pick<BatchRow, 'status' | 'waitsFor' | 'executedPipelines' | 'pipelines'> {
  /** Something holds it up. */
  readonly isHeldUp: boolean;
}

/** The ring closes with what is done: compiled, set up, approved, then pipeline by pipeline. */
const CLOSED = { compiled: 0.12, setUp: 0.35, approved: 0.5 } as const;

/** Where a batch stands and what it waits for, in a word. */
export function batchState({ status, waitsFor, executedPipelines, pipelines, isHeldUp }: BatchStanding): BatchState {
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
