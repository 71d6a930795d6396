import type { Batch } from '@flywheel/api';
import type { State } from '../../parts/show/state-mark.tsx';

/** A batch's state as people read it. */
export interface BatchState {
  readonly state: State;
  readonly word: string;
  /** How far the ring is closed. */
  readonly closed: number;
}

/** What a batch waits for, in a word. */
export function batchState(batch: Pick<Batch, 'status' | 'executionError'>): BatchState {
  switch (batch.status) {
    case 'AVAILABLE_TO_QUEUE':
      return { state: 'running', word: 'Setting up', closed: 0.25 };
    case 'FINALIZED':
      return batch.executionError
        ? { state: 'waiting', word: 'Held up', closed: 0.6 }
        : { state: 'waiting', word: 'Waiting for you', closed: 0.5 };
    case 'EXECUTED':
      return { state: 'done', word: 'Executed', closed: 1 };
    case 'FAILED':
      return { state: 'failed', word: 'Failed', closed: 0.5 };
    default:
      return batch.status satisfies never;
  }
}
