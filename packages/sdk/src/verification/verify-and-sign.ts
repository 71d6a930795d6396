import { sleep } from '@flywheel/solana-rpc';
import type { Base64EncodedWireTransaction } from '@solana/kit';
import { isFlywheelError, signingRefused } from '../errors.ts';
import { type ApprovalSigner, signApproval } from '../signing/sign.ts';
import { type VerificationInput, type VerificationResult, verifyApproval } from './verify-approval.ts';

export interface VerifyAndSignInput extends Omit<VerificationInput, 'wallet'> {
  readonly wallet: ApprovalSigner;
}

export interface VerifyAndSignOptions {
  /** Called with the result before the wallet is asked, whether it is verified or not. */
  readonly onVerification?: (result: VerificationResult) => void;
  readonly signal?: AbortSignal;
}

/**
 * Verifies everything that the signature would allow, and signs the approval only if nothing differs. The batch must be
 * `FINALIZED`: before that it is not completely on chain. A node that is a few slots behind is read again for 5 s.
 * @param rpcUrl a Solana node.
 * @returns the signed transaction, base64.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` with the first five reasons; another code if the node does not answer.
 *
 * @example
 * const signedTx = await verifyAndSign(rpcUrl, { wallet, batch: { ...batch, pipelines }, proposalApproveTx });
 */
export async function verifyAndSign(
  rpcUrl: string,
  { wallet, ...input }: VerifyAndSignInput,
  { onVerification, signal }: VerifyAndSignOptions = {},
): Promise<Base64EncodedWireTransaction> {
  const result = await verifyPatiently(rpcUrl, { ...input, wallet: wallet.address }, signal);
  onVerification?.(result);
  if (!result.isVerified) throw signingRefused(summaryOf(result));
  return signApproval(input.proposalApproveTx, wallet);
}

// A node may be some slots behind the node that the service uses.
const MAX_ATTEMPTS = 6;
const PAUSE_MS = 1_000;

async function verifyPatiently(
  rpcUrl: string,
  input: VerificationInput,
  signal: AbortSignal | undefined,
): Promise<VerificationResult> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await verifyApproval(rpcUrl, input);
    } catch (cause) {
      // The transport has retried already.
      if (isFlywheelError(cause)) throw cause;
      if (attempt === MAX_ATTEMPTS) {
        const message = cause instanceof Error ? cause.message : String(cause);
        throw signingRefused(`the batch cannot be read from ${new URL(rpcUrl).host}. ${message}`, cause);
      }
      await sleep(PAUSE_MS, signal);
    }
  }
}

/** Enough to see what is wrong; `onVerification` receives everything. */
const MAX_NAMED = 5;

function summaryOf({ issues, mismatches }: VerificationResult): string {
  const sentences = [
    ...issues,
    ...mismatches.map(({ pipeline, text }) => (pipeline === null ? text : `Pipeline ${pipeline}: ${text}`)),
  ];
  const more = sentences.length > MAX_NAMED ? [`And ${sentences.length - MAX_NAMED} more.`] : [];
  return [...sentences.slice(0, MAX_NAMED), ...more].join(' ');
}
