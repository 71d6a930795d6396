import type { ProvenPipeline } from '@flywheel/api';

/** `1 proof`, `3 proofs` */
export function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}

/** `batch 4`, `batches 4 and 7` */
export function batchesOf(pipelines: readonly ProvenPipeline[]): string {
  const indices = [...new Set(pipelines.map(({ batchIndex }) => batchIndex))];
  const last = indices.pop() ?? '';
  return indices.length === 0 ? `batch ${last}` : `batches ${indices.join(', ')} and ${last}`;
}

/** Why a proof that is recorded is not proven. */
export function unexecuted({ status, batchIndex, pipeline, signature }: ProvenPipeline): string {
  const where = `pipeline ${pipeline} of batch ${batchIndex}`;
  switch (status) {
    case 'AVAILABLE_TO_QUEUE':
    case 'FINALIZED':
      return `Not proven yet: ${where} carries this proof and waits to be approved and executed.`;
    case 'EXECUTED':
      return signature === undefined
        ? `Not proven: ${where} carries this proof and is recorded as executed, but not in which transaction.`
        : executionNotShown(signature);
    case 'FAILED':
      return `Not proven: ${where} carries this proof, but the batch ended without executing it.`;
    default:
      throw new Error(`No sentence for ${status satisfies never}.`);
  }
}

/** A node that has forgotten a transaction cannot vouch for it. */
export function executionNotShown(signature: string): string {
  return `Not proven here: transaction ${signature} is recorded, but the cluster’s node does not show it (any more). An archive node or an explorer can.`;
}
