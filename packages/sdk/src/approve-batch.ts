import type { Batch } from '@flywheel/api';
import type { FlywheelClient } from './client.ts';
import { FlywheelError, nameBatch, signingRefused } from './errors.ts';
import {
  approve,
  DEFAULT_TIMEOUT_MS,
  executeToEnd,
  type FollowOptions,
  knownOf,
  type VerifyOptions,
} from './follow-batch.ts';
import { verifyAndSign } from './verification/verify-and-sign.ts';
import { isFinal, watchBatch } from './watch-batch.ts';

/** A batch with its pipelines. */
export type BatchToApprove = Batch & Required<Pick<Batch, 'pipelines'>>;

/** Options of `approveBatch`. The batch is always verified before the wallet signs. */
export interface ApproveBatchOptions extends Omit<FollowOptions, 'verify' | 'onProgress'> {
  readonly verify: VerifyOptions;
  /**
   * Decides about the batch before the wallet is asked. The chain is compared with these pipelines afterwards, so that the
   * wallet signs nothing else. Every batch is approved by default.
   */
  readonly mayApprove?: (batch: BatchToApprove) => boolean | Promise<boolean>;
}

/**
 * Approves a batch that another program or the console has created: waits for its setup on chain, asks `mayApprove`, verifies
 * the batch there, signs the approval, executes, and waits for the end. The same call again resumes the batch. It casts no
 * cancel vote on a batch that fails, because the wallet pays the fee of that and may have no SOL: `castCancel` does.
 * @returns the batch, `EXECUTED` or `FAILED`.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` if `mayApprove` refuses or the chain differs; `ERR_TIMED_OUT`; of any call.
 *
 * @example
 * const mayApprove = ({ pipelines }) => Number(totalTokens(pipelines).total) <= 10_000;
 * const verify = { rpcUrl, vaultAddress, mintAddress };
 * const batch = await approveBatch(client, batchId, { wallet, verify, mayApprove });
 */
export async function approveBatch(
  client: FlywheelClient,
  batchId: string,
  { wallet, verify, mayApprove = () => true, timeoutMs = DEFAULT_TIMEOUT_MS, signal }: ApproveBatchOptions,
): Promise<Batch> {
  const call = { signal };
  try {
    await watchBatch(client, batchId, { ...call, timeoutMs, until: ({ status }) => status !== 'AVAILABLE_TO_QUEUE' });
    const current = await client.getBatch(batchId, { ...call, include: ['pipelines', 'approval'] });
    if (isFinal(current)) return current;
    const { pipelines, proposalApproveTx } = current;
    if (!pipelines || proposalApproveTx === undefined) {
      const message = 'The service has sent the batch without its pipelines or its approval.';
      throw new FlywheelError({ code: 'ERR_UNEXPECTED_REPLY', message });
    }
    const batch = { ...current, pipelines };
    if (!(await mayApprove(batch))) throw signingRefused('mayApprove does not accept this batch.');
    const input = { wallet, proposalApproveTx, ...knownOf(verify, batch) };
    // An earlier call may have approved it already.
    const signedTx = await approve(client, { ...call, batchId, proposalApproveTx, isResumed: true }, () =>
      verifyAndSign(verify.rpcUrl, input, call),
    );
    const request = { batchId, signedTx: signedTx ?? proposalApproveTx };
    await executeToEnd(client, request, { ...call, timeoutMs }, () => undefined);
    return await client.getBatch(batchId, call);
  } catch (error) {
    throw nameBatch(error, { batchId });
  }
}
