import type { BatchProgress } from '@flywheel/api';

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
