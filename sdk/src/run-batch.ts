import type { Batch, ExecutionError, InitBatchResponse } from '@flywheel/api';
import type { Base64EncodedWireTransaction, TransactionPartialSigner } from '@solana/kit';
import type { FlywheelClient, InitBatchInput } from './client.ts';
import { FlywheelError } from './errors.ts';
import { sleep } from './request.ts';
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
  /** How long to follow the batch; 10 minutes by default. It goes on without us after that. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const DEFAULT_TIMEOUT_MS = 600_000;
const FIRST_POLL_MS = 120;
/** With growing pauses a poll stays below the service’s 10 reads a second, also for a few clients on one key. */
const LAST_POLL_MS = 2_000;
const POLL_GROWTH = 1.3;

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
  onProgress?.({ stage: 'compiled', init });
  const poll = { batchId: init.batch.id, deadlineMs: Date.now() + timeoutMs, timeoutMs, ...call };

  const setUp = await pollBatch(client, poll, ({ status }) => status !== 'AVAILABLE_TO_QUEUE');
  if (!isFinal(setUp)) {
    onProgress?.({ stage: 'setUp', batch: setUp });
    const signedTx = await signApproval(setUp.proposalApproveTx ?? init.proposalApproveTx, wallet);
    onProgress?.({ stage: 'approved', batch: setUp, signedTx });
    await client.executeBatch({ batchId: init.batch.id, signedTx }, { ...call, waitSeconds: 0 });
  }
  let saidBefore: string | undefined;
  const batch = await pollBatch(client, poll, (current) => {
    const { executionError } = current;
    if (executionError && executionError.message !== saidBefore) {
      onProgress?.({ stage: 'hindered', batch: current, executionError });
    }
    saidBefore = executionError?.message;
    return isFinal(current);
  });
  onProgress?.({ stage: 'ended', batch });
  return batch;
}

/** Whether a batch has ended: nothing will change it any more. */
export function isFinal({ status }: Pick<Batch, 'status'>): boolean {
  return status === 'EXECUTED' || status === 'FAILED';
}

interface Poll {
  readonly batchId: string;
  readonly deadlineMs: number;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

async function pollBatch(
  client: FlywheelClient,
  { batchId, deadlineMs, timeoutMs, signal }: Poll,
  isAwaited: (batch: Batch) => boolean,
): Promise<Batch> {
  for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * POLL_GROWTH, LAST_POLL_MS)) {
    const batch = await client.getBatch(batchId, { include: ['approval'], ...(signal ? { signal } : {}) });
    if (isAwaited(batch)) return batch;
    if (Date.now() + pauseMs > deadlineMs) {
      throw new FlywheelError({
        code: 'ERR_TIMED_OUT',
        message: `Batch ${batchId} is still ${batch.status} after ${timeoutMs / 1_000} s. It goes on: read it with getBatch.`,
      });
    }
    await sleep(pauseMs, signal);
  }
}
