import type { BundleExecution, ExecuteResult, InitResult } from '@flywheel/api';
import { bundleIdOf } from '@flywheel/protocol';
import type { Batch, Bundle } from '../../model/batch.ts';

/** Outcome of an execution. */
export interface Execution {
  readonly bundles: readonly Bundle[];
  /** Number of executed pipelines: the cursor on chain. */
  readonly executed: number;
  readonly failure: ExecutionFailure | null;
}

/** The failure that ended an execution. The positions are absent if nothing was attempted. */
export type ExecutionFailure = Pick<
  ExecuteResult,
  'failedTxMsg' | 'failedOnTransactionIndex' | 'failedStartTransactionIndex' | 'failedRecipient'
>;

/**
 * Builds the result of an ended batch. Pipelines that were not attempted after a failed one count as failed.
 * @throws RangeError if more pipelines were executed than there are, or if all were executed and there is a failure.
 */
export function executeResultOf({ id, pipelines }: Batch, { bundles, executed, failure }: Execution): ExecuteResult {
  if (executed < 0 || executed > pipelines.length) {
    throw new RangeError(`Batch ${id} has ${pipelines.length} pipelines; ${executed} cannot have been executed.`);
  }
  if ((executed === pipelines.length) !== (failure === null)) {
    const said = failure === null ? 'no failure' : `the failure "${failure.failedTxMsg}"`;
    throw new RangeError(`Batch ${id} has ${executed} of ${pipelines.length} pipelines executed, and ${said}.`);
  }
  return {
    total: pipelines.length,
    totalSuccessful: executed,
    totalFailed: pipelines.length - executed,
    successfulExecutions: landedExecutions(bundles),
    ...failure,
  };
}

/** Lists what landed: a whole bundle, or each transaction of a bundle that was not atomic or landed only in part. */
function landedExecutions(bundles: readonly Bundle[]): BundleExecution[] {
  return bundles.flatMap(({ bundleId, signatures, landedSignatures, isAtomic }) =>
    isAtomic && landedSignatures.length === signatures.length
      ? [{ bundleId, txHashes: [...landedSignatures] }]
      : landedSignatures.map((signature) => ({
          bundleId: bundleIdOf([signature]),
          txHashes: [signature],
        })),
  );
}

/** Builds the result of a setup. Its counts are transactions. */
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
