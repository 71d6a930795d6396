import type { BundleExecution, ExecuteResult, InitResult } from '@flywheel/api';
import type { Signature } from '@solana/kit';
import type { Batch, Bundle } from '../../model/batch.ts';
import { bundleIdOf } from '../../solana/bundles.ts';

/** What is known of an execution: the bundles, the chain’s cursor, and the failure that ended it, if one did. */
export interface Execution {
  readonly bundles: readonly Bundle[];
  /** Pipelines executed, by the chain’s cursor. */
  readonly executed: number;
  readonly failure: ExecutionFailure | null;
}

/** The positions are absent when nothing was attempted. */
export type ExecutionFailure = Pick<
  ExecuteResult,
  'failedTxMsg' | 'failedOnTransactionIndex' | 'failedStartTransactionIndex'
>;

/** The counts of an ended batch: a pipeline never attempted because an earlier one failed counts as failed. */
export function executeResultOf({ pipelines }: Batch, { bundles, executed, failure }: Execution): ExecuteResult {
  return {
    total: pipelines.length,
    totalSuccessful: executed,
    totalFailed: pipelines.length - executed,
    successfulExecutions: landedExecutions(bundles),
    ...failure,
  };
}

/** What landed: a bundle as it was sent, or, of one that went out or came apart singly, each transaction. */
export function landedExecutions(bundles: readonly Bundle[]): BundleExecution[] {
  return bundles.flatMap(({ bundleId, signatures, landedSignatures, isAtomic }) =>
    isAtomic && landedSignatures.length === signatures.length
      ? [{ bundleId, txHashes: [...landedSignatures] }]
      : landedSignatures.map((signature) => ({
          bundleId: bundleIdOf([signature as Signature]),
          txHashes: [signature],
        })),
  );
}

/** What setting a batch up took, in transactions; the message of what ended it, if something did. */
export function initResultOf(
  { batchIndex }: Batch,
  { bundles, failedTxMsg }: { readonly bundles: readonly Bundle[]; readonly failedTxMsg: string | null },
): InitResult {
  const totalSuccessful = bundles.reduce((sum, { landedSignatures }) => sum + landedSignatures.length, 0);
  const totalFailed = failedTxMsg === null ? 0 : 1;
  return {
    total: totalSuccessful + totalFailed,
    totalSuccessful,
    totalFailed,
    successfulExecutions: landedExecutions(bundles),
    ...(failedTxMsg !== null && { failedTxMsg }),
    batchIndex: Number(batchIndex),
  };
}
