import type { Base64EncodedWireTransaction } from '@solana/kit';
import { isFlywheelError } from '../errors.ts';
import { refusal } from '../signing/decode-transaction.ts';
import { signApproval } from '../signing/sign-approval.ts';
import type { ApprovalSigner } from '../signing/sign-transaction.ts';
import { sleep } from '../sleep.ts';
import { type Look, type LookInput, lookBeforeSign } from './look-before-sign.ts';

export interface SignAfterLookInput extends Omit<LookInput, 'wallet'> {
  readonly wallet: ApprovalSigner;
}

export interface SignAfterLookOptions {
  /** Told of what was seen, before the wallet is asked. */
  readonly onLook?: (look: Look) => void;
  readonly signal?: AbortSignal;
}

/**
 * Looks at everything that the signature would let happen, and has the approval signed only if nothing stands against it.
 * The batch must be `FINALIZED`: before that it is not on chain whole.
 * @throws FlywheelError `ERR_SIGNING_REFUSED`, naming what stands against it; others when the cluster does not answer.
 *
 * @example
 * const signedTx = await signAfterLook(rpcUrl, { wallet, batch: { ...batch, pipelines }, proposalApproveTx });
 */
export async function signAfterLook(
  rpcUrl: string,
  { wallet, ...input }: SignAfterLookInput,
  { onLook, signal }: SignAfterLookOptions = {},
): Promise<Base64EncodedWireTransaction> {
  const look = await lookPatiently(rpcUrl, { ...input, wallet: wallet.address }, signal);
  onLook?.(look);
  if (!look.isSafe) throw refusal(summaryOf(look));
  return signApproval(input.proposalApproveTx, wallet);
}

/** A node may be some slots behind the one that the service asks. */
const LOOK_ATTEMPTS = 6;
const PAUSE_MS = 1_000;

async function lookPatiently(rpcUrl: string, input: LookInput, signal: AbortSignal | undefined): Promise<Look> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await lookBeforeSign(rpcUrl, input);
    } catch (cause) {
      // The cluster itself was already asked again as often as makes sense.
      if (isFlywheelError(cause)) throw cause;
      const said = cause instanceof Error ? cause.message : String(cause);
      if (attempt === LOOK_ATTEMPTS) throw refusal(`the batch cannot be read at ${rpcUrl}. ${said}`, cause);
      await sleep(PAUSE_MS, signal);
    }
  }
}

/** Enough to see what is wrong; `onLook` has it all. */
const MAX_NAMED_FAULTS = 5;

function summaryOf({ approvalFaults, differences }: Look): string {
  const faults = [
    ...approvalFaults,
    ...differences.map(({ pipeline, text }) => (pipeline === null ? text : `Pipeline ${pipeline}: ${text}`)),
  ];
  const more = faults.length > MAX_NAMED_FAULTS ? [`And ${faults.length - MAX_NAMED_FAULTS} more.`] : [];
  return [...faults.slice(0, MAX_NAMED_FAULTS), ...more].join(' ');
}
