import type { Batch, ExecuteBatchRequest, ExecutionError, InitBatchResponse, Pipeline } from '@flywheel/api';
import { type RpcUrl, sleep } from '@flywheel/solana-rpc';
import { VAULT_INDEX, vaultAddress } from '@flywheel/squads';
import { address, type Base64EncodedWireTransaction } from '@solana/kit';
import type { FlywheelClient, InitBatchInput } from './client.ts';
import { isFlywheelError, nameBatch, signingRefused } from './errors.ts';
import type { RunPosition } from './idempotency-keys.ts';
import { type CastCancelOptions, castCancel } from './signing/cast-cancel.ts';
import { type ApprovalSigner, signApproval } from './signing/sign.ts';
import { verifyAndSign } from './verification/verify-and-sign.ts';
import type { ExpectedMultisig, VerificationInput, VerificationResult } from './verification/verify-approval.ts';
import { isFinal, stillOpen, watchBatch } from './watch-batch.ts';

/** A stage that a batch has reached. */
export type BatchProgress =
  /** Before init: the key of the batch that is created or resumed, and its position in the run, null with a key of yours. */
  | { readonly stage: 'begun'; readonly idempotencyKey: string; readonly position: Required<RunPosition> | null }
  /** `isResumed` is true if an earlier call has created the batch. `init` contains the warnings, before anything is signed. */
  | {
      readonly stage: 'compiled';
      readonly init: InitBatchResponse;
      readonly idempotencyKey: string;
      readonly isResumed: boolean;
    }
  | { readonly stage: 'setUp'; readonly batch: Batch }
  /**
   * Unless `verify` is `'trust-service'`: the result, before the wallet is asked. The vault and the mint of `batch` are
   * those that were verified, whatever the service says.
   */
  | { readonly stage: 'verified'; readonly batch: Batch; readonly verification: VerificationResult }
  /** `signedTx` is null if an earlier call has approved the batch and its execution has begun: the wallet is not asked. */
  | { readonly stage: 'approved'; readonly batch: Batch; readonly signedTx: Base64EncodedWireTransaction | null }
  /** Setup or execution is held up. `executionError` says by what, and whether you must act; the service tries again. */
  | { readonly stage: 'blocked'; readonly batch: Batch; readonly executionError: ExecutionError }
  /** The wallet has approved, and a person must decide for the company; once for each batch. */
  | { readonly stage: 'awaitsCompany'; readonly batch: Batch }
  /**
   * Not with `'trust-service'`, and only if a failed batch needs the wallet's cancel vote before its rent returns. `signature` is
   * null if the vote could not be cast; `error` says why. The result of the batch stays as it is.
   */
  | { readonly stage: 'cancelVote'; readonly batch: Batch; readonly signature: string | null; readonly error: unknown }
  /** `hadEnded` is true if the batch ended before this call, which then sent nothing. */
  | { readonly stage: 'ended'; readonly batch: Batch; readonly hadEnded: boolean };

/** A node that verifies a batch before the wallet signs, and what you know of the project. */
export interface VerifyOptions {
  /** A Solana node of your choice, or several of one cluster: the first healthy one answers a whole verification. */
  readonly rpcUrl: RpcUrl;
  /** The project's vault, if you know it, from elsewhere than the service; otherwise the service's answer is used. */
  readonly vaultAddress?: string;
  /** The project's mint, if you know it; otherwise the service's answer is used. */
  readonly mintAddress?: string;
  /** The project's multisig and its members, if you know them; otherwise any multisig is accepted in which the wallet votes. */
  readonly expect?: ExpectedMultisig;
}

export interface FollowOptions {
  /** The project's wallet, as registered. */
  readonly wallet: ApprovalSigner;
  /**
   * The batch is verified on chain before the wallet signs. `'trust-service'` omits that: only the bytes of the approval
   * are checked, and whoever controls the service decides what the wallet signs.
   */
  readonly verify: VerifyOptions | 'trust-service';
  readonly onProgress?: (progress: BatchProgress) => void;
  /** Bound of the setup, and again of the execution; 10 minutes by default. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export const DEFAULT_TIMEOUT_MS = 600_000;
// Six requests a minute stay below the service's limit of ten, and report a blocked execution soon.
const EXECUTE_WAIT_SECONDS = 10;
// The service answers at once while a person decides for the company. Doubled up to the wait above, nine requests a minute.
const FIRST_PAUSE_MS = 1_000;

export interface BatchToFollow {
  readonly input: InitBatchInput;
  /** Those of `input`. */
  readonly pipelines: readonly Pipeline[];
  readonly idempotencyKey: string;
}

export interface FollowBatchOptions extends FollowOptions {
  /** Called with the batch's proposal each time before the wallet is asked; what it throws prevents the signature. */
  readonly beforeSigning?: (proposal: Pick<Batch, 'id' | 'multisig' | 'batchIndex'>) => Promise<void>;
  /** The multisig in which an earlier call has verified and signed the batch, by the caller's own records. */
  readonly signedIn?: string | undefined;
}

/** Creates or resumes the batch of an idempotency key and follows it to its end. */
export async function followBatch(
  client: FlywheelClient,
  { input, pipelines, idempotencyKey }: BatchToFollow,
  { wallet, verify, onProgress, timeoutMs = DEFAULT_TIMEOUT_MS, signal, beforeSigning, signedIn }: FollowBatchOptions,
): Promise<{ readonly batch: Batch; readonly hadEnded: boolean }> {
  const call = { signal };
  let batchId: string | null = null;
  let lastBlocker: string | undefined;
  let hasAwaitedCompany = false;
  let verifiedIn = signedIn;
  const showBlocker = (batch: Batch) => {
    const { executionError } = batch;
    if (executionError && executionError.message !== lastBlocker) {
      onProgress?.({ stage: 'blocked', batch, executionError });
    }
    lastBlocker = executionError?.message;
  };
  const showExecution = (batch: Batch) => {
    showBlocker(batch);
    if (batch.awaitsCompany && !hasAwaitedCompany) onProgress?.({ stage: 'awaitsCompany', batch });
    hasAwaitedCompany ||= batch.awaitsCompany ?? false;
  };
  const signerFor = (batch: Batch) => (beforeSigning ? guarded(wallet, () => beforeSigning(batch)) : wallet);
  try {
    let isResumed = false;
    const onReplay = (isReplayed: boolean) => {
      isResumed = isReplayed;
    };
    const init = await client.initBatch(input, { ...call, idempotencyKey, onReplay });
    batchId = init.batch.id;
    onProgress?.({ stage: 'compiled', init, idempotencyKey, isResumed });
    const isSetUp = ({ status }: Batch) => status !== 'AVAILABLE_TO_QUEUE';
    const first = await client.getBatch(batchId, call);
    const hadEnded = isFinal(first);
    const setUp = isSetUp(first)
      ? first
      : await watchBatch(client, batchId, { ...call, timeoutMs, until: isSetUp, onChange: showBlocker });
    if (!isFinal(setUp)) {
      onProgress?.({ stage: 'setUp', batch: setUp });
      // The nonce of the approval may have changed since init.
      const current = await client.getBatch(batchId, { ...call, include: ['approval'] });
      const proposalApproveTx = current.proposalApproveTx ?? init.proposalApproveTx;
      const signer = signerFor(current);
      const signedTx = await approve(client, { ...call, batchId, proposalApproveTx, isResumed }, () =>
        verify === 'trust-service'
          ? signApproval(proposalApproveTx, signer, { ...current, company: 'trust-service' })
          : verifyAndSign(
              verify.rpcUrl,
              { wallet: signer, proposalApproveTx, ...knownOf(verify, { ...current, pipelines }) },
              {
                ...call,
                onVerification: (verification) =>
                  onProgress?.({ stage: 'verified', batch: knownOf(verify, current).batch, verification }),
              },
            ),
      );
      if (signedTx !== null) verifiedIn = current.multisig;
      onProgress?.({ stage: 'approved', batch: setUp, signedTx });
      const request = { batchId, signedTx: signedTx ?? proposalApproveTx };
      await executeToEnd(client, request, { ...call, timeoutMs }, showExecution);
    }
    const batch = await client.getBatch(batchId, call);
    if (verify !== 'trust-service' && batch.status === 'FAILED') {
      // A multisig that only the service names could be any one in which the wallet votes.
      const multisig =
        verify.expect?.multisig ?? verifiedIn ?? (isOfKnownVault(verify, batch) ? batch.multisig : undefined);
      const vote = await tryCancelVote(client, batchId, {
        ...{ ...call, rpcUrl: verify.rpcUrl },
        ...(multisig === undefined
          ? { wallet: guarded(wallet, refuseUnverified) }
          : { wallet: signerFor(batch), multisig }),
      });
      if (vote !== null) onProgress?.({ stage: 'cancelVote', batch, ...vote });
    }
    onProgress?.({ stage: 'ended', batch, hadEnded });
    return { batch, hadEnded };
  } catch (error) {
    throw nameBatch(error, { idempotencyKey, batchId });
  }
}

/** Runs `before` each time before a wallet is asked. */
function guarded(wallet: ApprovalSigner, before: () => Promise<void>): ApprovalSigner {
  const { address } = wallet;
  if ('modifyAndSignTransactions' in wallet) {
    return {
      address,
      modifyAndSignTransactions: async (...asked) => {
        await before();
        return wallet.modifyAndSignTransactions(...asked);
      },
    };
  }
  return {
    address,
    signTransactions: async (...asked) => {
      await before();
      return wallet.signTransactions(...asked);
    },
  };
}

/** A vault is of one multisig only. */
function isOfKnownVault({ vaultAddress: known }: VerifyOptions, { multisig }: Pick<Batch, 'multisig'>): boolean {
  return known !== undefined && known === vaultAddress(address(multisig), VAULT_INDEX);
}

async function refuseUnverified(): Promise<never> {
  throw signingRefused('only the service names the multisig. Pass your vault as verify.vaultAddress.');
}

/** A vote that fails must not hide the result of the batch. Null if no vote is owed. */
async function tryCancelVote(
  client: FlywheelClient,
  batchId: string,
  options: CastCancelOptions,
): Promise<{ readonly signature: string | null; readonly error: unknown } | null> {
  try {
    const signature = await castCancel(client, batchId, options);
    return signature === null ? null : { signature, error: null };
  } catch (error) {
    options.signal?.throwIfAborted();
    return { signature: null, error };
  }
}

interface ApprovalState {
  readonly batchId: string;
  readonly proposalApproveTx: string;
  readonly isResumed: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Signs the approval, unless an earlier call has and the execution has begun: then the proposal is not open any more, and
 * a verification would report that as a mismatch.
 * @returns null if nothing is left to sign.
 */
export async function approve(
  client: FlywheelClient,
  { batchId, proposalApproveTx, isResumed, signal }: ApprovalState,
  sign: () => Promise<Base64EncodedWireTransaction>,
): Promise<Base64EncodedWireTransaction | null> {
  // The service looks at the signature only while no execution has begun (decision 8): an unsigned approval asks for that.
  const hasExecutionBegun = async () => {
    try {
      const request = { batchId, signedTx: proposalApproveTx };
      await client.executeBatch(request, { waitSeconds: 0, signal });
      return true;
    } catch (error) {
      if (isFlywheelError(error, 'ERR_SIGNED_TX_INVALID')) return false;
      throw error;
    }
  };
  if (isResumed && (await hasExecutionBegun())) return null;
  try {
    return await sign();
  } catch (error) {
    // Another process with the same key may have approved the batch while this one verified it.
    if (isFlywheelError(error, 'ERR_SIGNING_REFUSED') && (await hasExecutionBegun())) return null;
    throw error;
  }
}

/** Replaces the service's claims by what the caller knows. */
export function knownOf<Claimed extends Pick<Batch, 'vaultAddress' | 'mintAddress'>>(
  { vaultAddress, mintAddress, expect }: VerifyOptions,
  claimed: Claimed,
): { readonly batch: Claimed } & Pick<VerificationInput, 'expect'> {
  const known = {
    ...(vaultAddress !== undefined && { vaultAddress }),
    ...(mintAddress !== undefined && { mintAddress }),
  };
  return { batch: { ...claimed, ...known }, ...(expect !== undefined && { expect }) };
}

/**
 * Repeats the execute request until the batch has ended. When the service has given up the request, it answers with an
 * error at once; reading the batch would look the same as a blocker that the service waits for.
 */
export async function executeToEnd(
  client: FlywheelClient,
  request: ExecuteBatchRequest,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  onOpen: (batch: Batch) => void,
): Promise<void> {
  const call = { signal };
  const deadlineMs = performance.now() + timeoutMs;
  // A batch that is rejected or cancelled while this waits has failed, which is a result and not an error.
  const endedOtherwise = async (error: unknown) => {
    const mayHaveFailed = isFlywheelError(error, 'ERR_BATCH_NOT_EXECUTABLE');
    if (mayHaveFailed && isFinal(await client.getBatch(request.batchId, call))) return true;
    throw error;
  };
  for (let pauseMs = FIRST_PAUSE_MS; ; ) {
    const askedAtMs = performance.now();
    const isEnded = await client
      .executeBatch(request, { ...call, waitSeconds: EXECUTE_WAIT_SECONDS })
      .then(isFinal, endedOtherwise);
    if (isEnded) return;
    const batch = await client.getBatch(request.batchId, call);
    onOpen(batch);
    if (performance.now() > deadlineMs) throw stillOpen(batch, timeoutMs);
    if (performance.now() - askedAtMs >= EXECUTE_WAIT_SECONDS * 1_000) continue;
    await sleep(pauseMs, signal);
    pauseMs = Math.min(2 * pauseMs, EXECUTE_WAIT_SECONDS * 1_000);
  }
}
