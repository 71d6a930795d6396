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
import { FlywheelError } from './errors.ts';
import { followBatch, isFinal } from './follow-batch.ts';
import type { Look } from './look/look-before-sign.ts';
import { signAfterLook } from './look/sign-after-look.ts';
import { signApproval } from './signing/sign-approval.ts';
import type { ApprovalSigner } from './signing/sign-transaction.ts';

/** Where a batch has got to. */
export type BatchProgress =
  | { readonly stage: 'compiled'; readonly init: InitBatchResponse }
  | { readonly stage: 'setUp'; readonly batch: Batch }
  /** Only with `look`: what the chain holds, before the wallet is asked. */
  | { readonly stage: 'looked'; readonly batch: Batch; readonly look: Look }
  | { readonly stage: 'approved'; readonly batch: Batch; readonly signedTx: Base64EncodedWireTransaction }
  /** The execution met what can mend, or needs you: the service says what in `executionError` and tries again. */
  | { readonly stage: 'hindered'; readonly batch: Batch; readonly executionError: ExecutionError }
  | { readonly stage: 'ended'; readonly batch: Batch };

export interface LookOptions {
  /** A Solana node of your own choice. */
  readonly rpcUrl: string;
  /** What the project is known to have: otherwise what the service says of the batch is taken. */
  readonly vaultAddress?: string;
  readonly mintAddress?: string;
}

export interface RunBatchOptions {
  /** The project’s wallet, as registered. */
  readonly wallet: ApprovalSigner;
  /**
   * Have the wallet sign only what the chain itself is seen to hold. Without it the approval’s own bytes are checked, and
   * the service is believed in what the batch does.
   */
  readonly look?: LookOptions;
  readonly onProgress?: (progress: BatchProgress) => void;
  /**
   * UUID of the init request; a fresh one by default. Keep one of your own and a run that broke off goes on where it was:
   * the same key and pipelines find the same batch, and nothing is executed twice.
   */
  readonly idempotencyKey?: string;
  /** How long to wait for the setup, and again for the execution; 10 minutes by default. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const DEFAULT_TIMEOUT_MS = 600_000;
/** Six times a minute is below the service’s ten executes, and soon enough to say what hinders one. */
const EXECUTE_WAIT_SECONDS = 10;

/**
 * The whole job: init, wait until the batch is set up on chain, look at it there, sign the approval, execute, follow it to
 * the end.
 * @returns the batch, `EXECUTED` or `FAILED`: a batch that failed on chain is an answer, not an error.
 * @throws FlywheelError from any call, `ERR_TIMED_OUT` when the batch has not ended in time.
 *
 * @example
 * const batch = await runBatch(client, [pipeline('WATCH_AD', { adId: '1' }, burn(0.25))], {
 *   wallet,
 *   look: { rpcUrl: 'https://api.mainnet-beta.solana.com' },
 *   onProgress: ({ stage }) => console.log(stage),
 * });
 */
export async function runBatch(
  client: FlywheelClient,
  work: readonly Pipeline[] | InitBatchInput,
  { wallet, look, onProgress, idempotencyKey, timeoutMs = DEFAULT_TIMEOUT_MS, signal }: RunBatchOptions,
): Promise<Batch> {
  const call = signal ? { signal } : {};
  const input = isPipelines(work) ? { pipelines: [...work] } : work;
  const init = await client.initBatch(input, idempotencyKey === undefined ? call : { ...call, idempotencyKey });
  const { id: batchId } = init.batch;
  onProgress?.({ stage: 'compiled', init });

  const isSetUp = ({ status }: Batch) => status !== 'AVAILABLE_TO_QUEUE';
  const setUp = await followBatch(client, batchId, { ...call, timeoutMs, until: isSetUp });
  if (!isFinal(setUp)) {
    onProgress?.({ stage: 'setUp', batch: setUp });
    // The batch holds the approval of the moment: its nonce may have moved since init.
    const current = await client.getBatch(batchId, { ...call, include: ['approval'] });
    const proposalApproveTx = current.proposalApproveTx ?? init.proposalApproveTx;
    const signedTx = look
      ? await signAfterLook(
          look.rpcUrl,
          { wallet, proposalApproveTx, batch: { ...current, ...knownOf(look), pipelines: pipelinesOf(input) } },
          { ...call, onLook: (seen) => onProgress?.({ stage: 'looked', batch: current, look: seen }) },
        )
      : await signApproval(proposalApproveTx, wallet);
    onProgress?.({ stage: 'approved', batch: setUp, signedTx });
    await executeToEnd(client, { batchId, signedTx }, { ...call, timeoutMs }, (batch, executionError) =>
      onProgress?.({ stage: 'hindered', batch, executionError }),
    );
  }
  const batch = await client.getBatch(batchId, call);
  onProgress?.({ stage: 'ended', batch });
  return batch;
}

function isPipelines(work: readonly Pipeline[] | InitBatchInput): work is readonly Pipeline[] {
  return Array.isArray(work);
}

/** What was asked for, not what the service says that it was. */
function pipelinesOf(input: InitBatchInput): readonly Pipeline[] {
  return typeof input === 'string' ? InitBatchRequest.parse(JSON.parse(input)).pipelines : input.pipelines;
}

function knownOf({ vaultAddress, mintAddress }: LookOptions) {
  return { ...(vaultAddress !== undefined && { vaultAddress }), ...(mintAddress !== undefined && { mintAddress }) };
}

/**
 * Asks for the execution again and again while it goes on: an answer to it says at once, as an error, when the service
 * gave the request back, which reading the batch does not tell apart from a blocker that the service waits out.
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
