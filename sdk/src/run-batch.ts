import type { Batch, ExecuteBatchRequest, ExecutionError, InitBatchResponse } from '@flywheel/api';
import type { Base64EncodedWireTransaction, TransactionPartialSigner } from '@solana/kit';
import type { FlywheelClient, InitBatchInput } from './client.ts';
import { FlywheelError } from './errors.ts';
import { followBatch, isFinal } from './follow-batch.ts';
import { signApproval } from './sign.ts';

/** Where a batch has got to. */
export type BatchProgress =
  | { readonly stage: 'compiled'; readonly init: InitBatchResponse }
  | { readonly stage: 'setUp'; readonly batch: Batch }
  | { readonly stage: 'approved'; readonly batch: Batch; readonly signedTx: Base64EncodedWireTransaction }
  /** The execution met what can mend, or needs you: the service says what in `executionError` and tries again. */
  | { readonly stage: 'hindered'; readonly batch: Batch; readonly executionError: ExecutionError }
  | { readonly stage: 'ended'; readonly batch: Batch };

export interface RunBatchOptions {
  /** The project’s wallet, as registered. */
  readonly wallet: TransactionPartialSigner;
  readonly onProgress?: (progress: BatchProgress) => void;
  /** UUID of the init request; a fresh one by default. */
  readonly idempotencyKey?: string;
  /** How long to wait for the setup, and again for the execution; 10 minutes by default. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const DEFAULT_TIMEOUT_MS = 600_000;
/** Six times a minute is below the service’s ten executes, and soon enough to say what hinders one. */
const EXECUTE_WAIT_SECONDS = 10;

/**
 * The whole job: init, wait until the batch is set up on chain, sign the approval, execute, follow it to the end.
 * @returns the batch, `EXECUTED` or `FAILED`: a batch that failed on chain is an answer, not an error.
 * @throws FlywheelError from any call, `ERR_TIMED_OUT` when the batch has not ended in time.
 *
 * @example
 * const batch = await runBatch(client, { pipelines }, { wallet, onProgress: ({ stage }) => console.log(stage) });
 */
export async function runBatch(
  client: FlywheelClient,
  input: InitBatchInput,
  { wallet, onProgress, idempotencyKey, timeoutMs = DEFAULT_TIMEOUT_MS, signal }: RunBatchOptions,
): Promise<Batch> {
  const call = signal ? { signal } : {};
  const init = await client.initBatch(input, idempotencyKey === undefined ? call : { ...call, idempotencyKey });
  const { id: batchId } = init.batch;
  onProgress?.({ stage: 'compiled', init });

  const isSetUp = ({ status }: Batch) => status !== 'AVAILABLE_TO_QUEUE';
  const setUp = await followBatch(client, batchId, { ...call, timeoutMs, until: isSetUp });
  if (!isFinal(setUp)) {
    onProgress?.({ stage: 'setUp', batch: setUp });
    // The batch holds the approval of the moment: its nonce may have moved since init.
    const { proposalApproveTx } = await client.getBatch(batchId, { ...call, include: ['approval'] });
    const signedTx = await signApproval(proposalApproveTx ?? init.proposalApproveTx, wallet);
    onProgress?.({ stage: 'approved', batch: setUp, signedTx });
    await executeToEnd(client, { batchId, signedTx }, { ...call, timeoutMs }, (batch, executionError) =>
      onProgress?.({ stage: 'hindered', batch, executionError }),
    );
  }
  const batch = await client.getBatch(batchId, call);
  onProgress?.({ stage: 'ended', batch });
  return batch;
}

/**
 * Asks for the execution again and again while it goes on: an answer to it says at once, as an error, when the service
 * gave the request back, which reading the batch does not tell apart from a hindrance that the service waits out.
 */
async function executeToEnd(
  client: FlywheelClient,
  request: ExecuteBatchRequest,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  onHindrance: (batch: Batch, executionError: ExecutionError) => void,
): Promise<void> {
  const call = signal ? { signal } : {};
  const deadlineMs = Date.now() + timeoutMs;
  let saidBefore: string | undefined;
  for (;;) {
    const answer = await client.executeBatch(request, { ...call, waitSeconds: EXECUTE_WAIT_SECONDS });
    if (isFinal(answer)) return;
    const batch = await client.getBatch(request.batchId, call);
    const { executionError } = batch;
    if (executionError && executionError.message !== saidBefore) onHindrance(batch, executionError);
    saidBefore = executionError?.message;
    if (Date.now() > deadlineMs) {
      throw new FlywheelError({
        code: 'ERR_TIMED_OUT',
        message: `Batch ${request.batchId} is still ${batch.status} after ${timeoutMs / 1_000} s; it goes on without this client.`,
      });
    }
  }
}
