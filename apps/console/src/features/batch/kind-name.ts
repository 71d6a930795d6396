import type { BatchKind } from '@flywheel/api';

/** What a batch is called. */
export function kindName(kind: BatchKind = 'pipelines'): string {
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
