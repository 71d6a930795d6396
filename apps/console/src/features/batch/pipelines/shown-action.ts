import type { BatchDetail } from '@flywheel/api';

/** What a pipeline of a batch may do; withdrawals and rotations only the console makes. */
export type ShownAction = BatchDetail['pipelines'][number]['actions'][number];
