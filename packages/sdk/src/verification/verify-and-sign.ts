import { chooseNode, type RpcUrl, sleep } from '@flywheel/solana-rpc';
import type { Base64EncodedWireTransaction } from '@solana/kit';
import { NodeBehind } from '../chain/squads.ts';
import type { CallOptions } from '../client.ts';
import { type FlywheelError, isFlywheelError, signingRefused } from '../errors.ts';
import { type ApprovalSigner, signApproval, signTransaction } from '../signing/sign.ts';
import type { RegistrationTerms } from './registration-terms.ts';
import { type VerificationInput, type VerificationResult, verifyApproval } from './verify-approval.ts';
import { type RegistrationInput, type RegistrationRefusal, verifyRegistration } from './verify-registration.ts';

/** The batch to verify, and the wallet that signs its approval. */
export interface VerifyAndSignInput extends Omit<VerificationInput, 'wallet'> {
  readonly wallet: ApprovalSigner;
}

export interface VerifyAndSignOptions extends CallOptions {
  /** Called with the result before the wallet is asked, whether it is verified or not. */
  readonly onVerification?: (result: VerificationResult) => void;
}

/**
 * Verifies everything that the signature would allow, and signs the approval only if nothing differs. The batch must be
 * `FINALIZED`: before that it is not completely on chain. A node that shows less is a few slots behind, and is read
 * again for 5 s.
 * @param rpcUrl a Solana node, or several of one cluster: the first healthy one answers everything.
 * @returns the signed transaction, base64.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` with the first five reasons; another code if the node does not answer.
 *
 * @example
 * const signedTx = await verifyAndSign(rpcUrl, { wallet, batch: { ...batch, pipelines }, proposalApproveTx });
 */
export async function verifyAndSign(
  rpcUrl: RpcUrl,
  { wallet, ...input }: VerifyAndSignInput,
  { onVerification, signal }: VerifyAndSignOptions = {},
): Promise<Base64EncodedWireTransaction> {
  const node = await chooseNode(rpcUrl, signal);
  const result = await verifyPatiently(node, { ...input, wallet: wallet.address }, signal);
  onVerification?.(result);
  const { isVerified, company } = result;
  if (!isVerified || company === null) throw signingRefused(summaryOf(result));
  signal?.throwIfAborted();
  return signApproval(input.proposalApproveTx, wallet, { ...input.batch, company });
}

/** The registration to verify, and the wallet that signs it. */
export interface VerifyAndSignRegistrationInput extends Omit<RegistrationInput, 'wallet'> {
  readonly wallet: ApprovalSigner;
}

export interface VerifyAndSignRegistrationOptions extends CallOptions {
  /** Called with what is about to be signed, before the wallet is asked; it may throw. */
  readonly onVerified?: (terms: RegistrationTerms) => Promise<void> | void;
  /** Called with the reasons against signing, before the error is thrown; it may throw another one. */
  readonly onRefused?: (refusal: RegistrationRefusal) => void;
}

/**
 * Verifies a registration transaction as `verifyRegistration` does, and signs it only if it is verified.
 * @param rpcUrl a Solana node, or several of one cluster: the first healthy one answers everything.
 * @returns the signed transaction, base64, and what it creates: `verifyRegistered` compares that with the chain afterwards.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` with the first five reasons; another code if the node does not answer.
 *
 * @example
 * const { signedTransaction, terms } = await verifyAndSignRegistration(rpcUrl, { wallet, mint, registration });
 */
export async function verifyAndSignRegistration(
  rpcUrl: RpcUrl,
  { wallet, ...input }: VerifyAndSignRegistrationInput,
  { onVerified, onRefused, signal }: VerifyAndSignRegistrationOptions = {},
): Promise<{ readonly signedTransaction: Base64EncodedWireTransaction; readonly terms: RegistrationTerms }> {
  const node = await chooseNode(rpcUrl, signal);
  const asked = { ...input, wallet: wallet.address };
  const verification = await verifyRegistration(node, asked, { signal }).catch((cause: unknown) => {
    signal?.throwIfAborted();
    if (isFlywheelError(cause)) throw cause;
    throw unreadable('the registration cannot be verified', node, cause);
  });
  if (!verification.isVerified) {
    onRefused?.(verification);
    throw signingRefused(firstOf(verification.issues));
  }
  const { terms } = verification;
  await onVerified?.(terms);
  signal?.throwIfAborted();
  return { signedTransaction: await signTransaction(input.registration.transaction, wallet), terms };
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
      const result = await verifyApproval(rpcUrl, input, { signal });
      // The service adds the messages to a draft, and activates it last.
      if (result.onChain.proposal.status === 'Draft') throw new NodeBehind('only a draft of the batch');
      return result;
    } catch (cause) {
      signal?.throwIfAborted();
      // The transport has retried already.
      if (isFlywheelError(cause)) throw cause;
      if (attempt === MAX_ATTEMPTS) {
        throw unreadable('the batch cannot be read', rpcUrl, cause);
      }
      await sleep(PAUSE_MS, signal);
    }
  }
}

function unreadable(what: string, rpcUrl: string, cause: unknown): FlywheelError<'ERR_SIGNING_REFUSED'> {
  const message = cause instanceof Error ? cause.message : String(cause);
  return signingRefused(`${what} at ${new URL(rpcUrl).host}. ${message}`, cause);
}

/** Enough to see what is wrong; `onVerification` receives everything. */
const MAX_NAMED = 5;

function summaryOf({ issues, mismatches }: VerificationResult): string {
  const sentences = [
    ...issues,
    ...mismatches.map(({ pipeline, text }) => (pipeline === null ? text : `Pipeline ${pipeline}: ${text}`)),
  ];
  return firstOf(sentences);
}

function firstOf(sentences: readonly string[]): string {
  const more = sentences.length > MAX_NAMED ? [`And ${sentences.length - MAX_NAMED} more.`] : [];
  return [...sentences.slice(0, MAX_NAMED), ...more].join(' ');
}
