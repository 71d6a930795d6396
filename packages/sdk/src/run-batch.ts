import {
  type Batch,
  type ExecuteBatchRequest,
  type ExecutionError,
  InitBatchRequest,
  type InitBatchResponse,
  type Pipeline,
} from '@flywheel/api';
import type { Base64EncodedWireTransaction } from '@solana/kit';
import type { FlywheelClient, InitBatchInput } from './client.ts';
import { type ApprovalSigner, signApproval } from './signing/sign.ts';
import { verifyAndSign } from './verification/verify-and-sign.ts';
import type { VerificationResult } from './verification/verify-approval.ts';
import { isFinal, stillOpen, watchBatch } from './watch-batch.ts';

/** A stage that a batch has reached. */
export type BatchProgress =
  | { readonly stage: 'compiled'; readonly init: InitBatchResponse }
  | { readonly stage: 'setUp'; readonly batch: Batch }
  /** Only with `verify`: the result, before the wallet is asked. */
  | { readonly stage: 'verified'; readonly batch: Batch; readonly verification: VerificationResult }
  | { readonly stage: 'approved'; readonly batch: Batch; readonly signedTx: Base64EncodedWireTransaction }
  /** The execution is blocked. `executionError` says by what, and whether you must act; the service tries again. */
  | { readonly stage: 'blocked'; readonly batch: Batch; readonly executionError: ExecutionError }
  | { readonly stage: 'ended'; readonly batch: Batch };

export interface VerifyOptions {
  /** A Solana node of your choice. */
  readonly rpcUrl: string;
  /** The project's vault, if you know it; otherwise the service's answer is used. */
  readonly vaultAddress?: string;
  /** The project's mint, if you know it; otherwise the service's answer is used. */
  readonly mintAddress?: string;
}

export interface RunBatchOptions {
  /** The project's wallet, as registered. */
  readonly wallet: ApprovalSigner;
  /**
   * Verifies the batch on chain before the wallet signs. Without it only the bytes of the approval are checked, and the
   * service is trusted about what the batch does.
   */
  readonly verify?: VerifyOptions;
  readonly onProgress?: (progress: BatchProgress) => void;
  /**
   * UUID of the init request; a new one by default. Keep your own, and an interrupted run can be continued: the same key
   * and pipelines find the same batch, and nothing is executed twice.
   */
  readonly idempotencyKey?: string;
  /** Bound of the setup, and again of the execution; 10 minutes by default. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const DEFAULT_TIMEOUT_MS = 600_000;
// Six requests a minute stay below the service's limit of ten, and report a blocked execution soon.
const EXECUTE_WAIT_SECONDS = 10;

/**
 * Runs a batch from start to end: init, wait for the setup on chain, verify it there, sign the approval, execute, and
 * watch it until it has ended.
 * @returns the batch, `EXECUTED` or `FAILED`. A batch that failed on chain is a result, not an error.
 * @throws FlywheelError of any call, or `ERR_TIMED_OUT` if the batch has not ended in time.
 *
 * @example
 * const batch = await runBatch(client, [pipeline('WATCH_AD', { adId: '1' }, burn(0.25))], {
 *   wallet,
 *   verify: { rpcUrl: 'https://api.mainnet-beta.solana.com' },
 *   onProgress: ({ stage }) => console.log(stage),
 * });
 */
export async function runBatch(
  client: FlywheelClient,
  work: readonly Pipeline[] | InitBatchInput,
  { wallet, verify, onProgress, idempotencyKey, timeoutMs = DEFAULT_TIMEOUT_MS, signal }: RunBatchOptions,
): Promise<Batch> {
  const call = signal ? { signal } : {};
  const input = isPipelines(work) ? { pipelines: [...work] } : work;
  const init = await client.initBatch(input, idempotencyKey === undefined ? call : { ...call, idempotencyKey });
  const { id: batchId } = init.batch;
  onProgress?.({ stage: 'compiled', init });

  const isSetUp = ({ status }: Batch) => status !== 'AVAILABLE_TO_QUEUE';
  const setUp = await watchBatch(client, batchId, { ...call, timeoutMs, until: isSetUp });
  if (!isFinal(setUp)) {
    onProgress?.({ stage: 'setUp', batch: setUp });
    // The nonce of the approval may have changed since init.
    const current = await client.getBatch(batchId, { ...call, include: ['approval'] });
    const proposalApproveTx = current.proposalApproveTx ?? init.proposalApproveTx;
    const signedTx = verify
      ? await verifyAndSign(
          verify.rpcUrl,
          { wallet, proposalApproveTx, batch: { ...current, ...knownOf(verify), pipelines: pipelinesOf(input) } },
          {
            ...call,
            onVerification: (verification) => onProgress?.({ stage: 'verified', batch: current, verification }),
          },
        )
      : await signApproval(proposalApproveTx, wallet);
    onProgress?.({ stage: 'approved', batch: setUp, signedTx });
    await executeToEnd(client, { batchId, signedTx }, { ...call, timeoutMs }, (batch, executionError) =>
      onProgress?.({ stage: 'blocked', batch, executionError }),
    );
  }
  const batch = await client.getBatch(batchId, call);
  onProgress?.({ stage: 'ended', batch });
  return batch;
}

function isPipelines(work: readonly Pipeline[] | InitBatchInput): work is readonly Pipeline[] {
  return Array.isArray(work);
}

/** The pipelines of the request, not those of the service's answer. */
function pipelinesOf(input: InitBatchInput): readonly Pipeline[] {
  return typeof input === 'string' ? InitBatchRequest.parse(JSON.parse(input)).pipelines : input.pipelines;
}

function knownOf({ vaultAddress, mintAddress }: VerifyOptions) {
  return { ...(vaultAddress !== undefined && { vaultAddress }), ...(mintAddress !== undefined && { mintAddress }) };
}

/**
 * Repeats the execute request until the batch has ended. When the service has given up the request, it answers with an
 * error at once; reading the batch would look the same as a blocker that the service waits for.
 */
async function executeToEnd(
  client: FlywheelClient,
  request: ExecuteBatchRequest,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  onBlocked: (batch: Batch, executionError: ExecutionError) => void,
): Promise<void> {
  const call = signal ? { signal } : {};
  const deadlineMs = Date.now() + timeoutMs;
  let lastMessage: string | undefined;
  for (;;) {
    const answer = await client.executeBatch(request, { ...call, waitSeconds: EXECUTE_WAIT_SECONDS });
    if (isFinal(answer)) return;
    const batch = await client.getBatch(request.batchId, call);
    const { executionError } = batch;
    if (executionError && executionError.message !== lastMessage) onBlocked(batch, executionError);
    lastMessage = executionError?.message;
    if (Date.now() > deadlineMs) throw stillOpen(batch, timeoutMs);
  }
}
