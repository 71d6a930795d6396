import type { Batch } from '@flywheel/api';
import { address } from '@flywheel/protocol';
import { chooseNode, RpcError, type RpcUrl, sleep } from '@flywheel/solana-rpc';
import {
  hasDiscriminator,
  PROPOSAL_CANCEL_DISCRIMINATOR,
  proposalAddress,
  SQUADS_PROGRAM_ADDRESS,
} from '@flywheel/squads';
import type { Address, Signature } from '@solana/kit';
import { askRpc, fieldOf, unexpectedAnswer } from '../chain/rpc.ts';
import type { CallOptions, FlywheelClient } from '../client.ts';
import { FlywheelError, signingRefused } from '../errors.ts';
import { decodeStaticTransaction } from './decode.ts';
import { type ApprovalSigner, signTransaction } from './sign.ts';

export interface CastCancelOptions extends CallOptions {
  /** The project's wallet, as registered. It pays the fee of 5,000 lamports. */
  readonly wallet: ApprovalSigner;
  /** A Solana node of your choice, or several of one cluster: the first healthy one is used. */
  readonly rpcUrl: RpcUrl;
  /** The project's multisig, if you know it; otherwise the service's answer is used. */
  readonly multisig?: string;
}

/**
 * Casts the wallet's cancel vote on a batch that was approved and then failed. Squads never closes an approved proposal, so
 * the operator's rent returns only after this vote and the company's. A batch that has not failed is left as it is.
 * @returns the signature of the vote's transaction; null if no vote is owed.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` if the service's transaction does anything else, `ERR_TIMED_OUT` if the vote is
 * not confirmed within a minute, and the errors of the service and of the node. The result of the batch stays as it is.
 *
 * @example
 * const batch = await approveBatch(client, batchId, { wallet, verify });
 * if (batch.status === 'FAILED') await castCancel(client, batchId, { wallet, rpcUrl, multisig });
 */
export async function castCancel(
  client: Pick<FlywheelClient, 'getBatch' | 'cancelBatch'>,
  batchId: string,
  { wallet, rpcUrl, multisig, signal }: CastCancelOptions,
): Promise<Signature | null> {
  const call = { signal };
  const batch = await client.getBatch(batchId, call);
  if (batch.status !== 'FAILED') return null;
  const answer = await client.cancelBatch(batchId, call);
  if (!('cancelTx' in answer) || answer.cancelTx === undefined) return null;
  requireCancelVote(answer.cancelTx, { ...batch, ...(multisig !== undefined && { multisig }) }, wallet.address);
  const signed = await signTransaction(answer.cancelTx, wallet);
  const node = await chooseNode(rpcUrl, signal);
  const signature = await send(node, signed, signal);
  await waitUntilConfirmed(node, signature, signal);
  // The service looks for the vote when it is asked again, and closes the accounts.
  await client.cancelBatch(batchId, call);
  return signature;
}

/** @throws FlywheelError `ERR_SIGNING_REFUSED` unless the transaction is the wallet's vote to cancel this batch, and no more. */
function requireCancelVote(
  cancelTx: string,
  { multisig, batchIndex }: Pick<Batch, 'multisig' | 'batchIndex'>,
  wallet: Address,
): void {
  const { feePayer, instructions } = decodeStaticTransaction(cancelTx, 'a cancel vote');
  const owner = address(multisig);
  const voteAccounts = [owner, wallet, proposalAddress(owner, BigInt(batchIndex))];
  const [instruction, ...others] = instructions;
  const isVote =
    feePayer === wallet &&
    others.length === 0 &&
    instruction?.programAddress === SQUADS_PROGRAM_ADDRESS &&
    hasDiscriminator(instruction.data, PROPOSAL_CANCEL_DISCRIMINATOR) &&
    instruction.accounts.join() === voteAccounts.join();
  if (!isVote) throw signingRefused(`it is not only the vote of ${wallet} to cancel batch index ${batchIndex}.`);
}

/** A blockhash lives for about a minute. */
const TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 500;
/** A node that does not know the service's blockhash by then is not a slot behind: the hash has expired. */
const BEHIND_MS = 10_000;

/** Sends a transaction. Its blockhash is of the service's node, and this one may be some slots behind that. */
async function send(rpcUrl: string, wire: string, signal: AbortSignal | undefined): Promise<Signature> {
  const [method, params] = [
    'sendTransaction',
    [wire, { encoding: 'base64', preflightCommitment: 'confirmed' }],
  ] as const;
  const deadlineMs = performance.now() + BEHIND_MS;
  for (;;) {
    try {
      const signature = await askRpc(rpcUrl, method, params, signal);
      if (typeof signature !== 'string') throw unexpectedAnswer(method, signature);
      return signature as Signature; // what the method answers
    } catch (error) {
      if (!isBehind(error) || performance.now() > deadlineMs) throw error;
      await sleep(POLL_INTERVAL_MS, signal);
    }
  }
}

function isBehind(error: unknown): boolean {
  if (!(error instanceof FlywheelError && error.cause instanceof RpcError)) return false;
  return error.cause.transactionError === JSON.stringify('BlockhashNotFound');
}

async function waitUntilConfirmed(rpcUrl: string, signature: string, signal: AbortSignal | undefined): Promise<void> {
  const deadlineMs = performance.now() + TIMEOUT_MS;
  for (;;) {
    const [method, params] = ['getSignatureStatuses', [[signature], { searchTransactionHistory: true }]] as const;
    const status = fieldOf(fieldOf(await askRpc(rpcUrl, method, params, signal), 'value'), 0);
    const err = fieldOf(status, 'err');
    if (err !== null && err !== undefined) throw unexpectedAnswer(method, status);
    const confirmation = fieldOf(status, 'confirmationStatus');
    if (confirmation === 'confirmed' || confirmation === 'finalized') return;
    if (performance.now() > deadlineMs) {
      const message = `The cancel vote ${signature} was not confirmed within ${TIMEOUT_MS / 1_000} s.`;
      throw new FlywheelError({ code: 'ERR_TIMED_OUT', message });
    }
    await sleep(POLL_INTERVAL_MS, signal);
  }
}
