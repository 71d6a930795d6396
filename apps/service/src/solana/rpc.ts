import { firstParseIssue, isAddress, messageOf } from '@flywheel/protocol';
import { RpcError, transactionErrorText } from '@flywheel/solana-rpc';
import {
  type Address,
  type Blockhash,
  type createSolanaRpcFromTransport,
  isBlockhash,
  isSignature,
  type PendingRpcRequest,
  type Signature,
} from '@solana/kit';
import * as z from 'zod';

export type ChainRpc = ReturnType<typeof createSolanaRpcFromTransport>;

/** The methods of a node that the service calls: a provider has to allow all of them. */
export const CHAIN_METHODS = [
  'getBlockHeight',
  'getEpochInfo',
  'getGenesisHash',
  'getLatestBlockhash',
  'getMinimumBalanceForRentExemption',
  'getMultipleAccounts',
  'getRecentPrioritizationFees',
  'getSignaturesForAddress',
  'getSignatureStatuses',
  'getSlot',
  'getTransaction',
  'sendTransaction',
  'simulateTransaction',
] as const;

export type ChainMethod = (typeof CHAIN_METHODS)[number];

/** The methods of a block engine that the service calls. */
export type BlockEngineMethod = 'getBundleStatuses' | 'getInflightBundleStatuses' | 'getTipAccounts' | 'sendBundle';

/**
 * Sends a request and checks the shape of its answer: kit types answers without checking them.
 * @throws Error that starts with the method's name and quotes the node; its cause is the original error.
 */
export async function ask<T>(
  method: ChainMethod | BlockEngineMethod,
  request: PendingRpcRequest<unknown>,
  shape: z.ZodType<T>,
): Promise<T> {
  let answer: unknown;
  try {
    answer = await request.send();
  } catch (cause) {
    throw new Error(`${method}: ${messageOf(cause)}`, { cause });
  }
  const parsed = shape.safeParse(answer);
  if (parsed.success) return parsed.data;
  const { place, message } = firstParseIssue(parsed.error, 'the result');
  throw new Error(`${method}: unexpected answer: ${place}: ${message}`, { cause: parsed.error });
}

/** Returns the node's own error behind an error of `ask`; null if the node did not answer, or not with JSON-RPC. */
export function nodeErrorOf(error: unknown): RpcError | null {
  const cause = error instanceof Error ? error.cause : null;
  return cause instanceof RpcError && cause.reason === 'node-error' ? cause : null;
}

/** Parts of answers that several methods share. Kit has turned integers into bigints before. */
export const shapes = {
  u64: z.bigint().nonnegative(),
  address: z.custom<Address>((value) => typeof value === 'string' && isAddress(value), 'is not an address'),
  blockhash: z.custom<Blockhash>((value) => typeof value === 'string' && isBlockhash(value), 'is not a blockhash'),
  signature: z.custom<Signature>((value) => typeof value === 'string' && isSignature(value), 'is not a signature'),
  /** Bytes of an account, which nodes send as `[text, "base64"]`. */
  bytes: z
    .tuple([z.base64(), z.literal('base64')])
    .transform(([text]): Uint8Array => Uint8Array.from(Buffer.from(text, 'base64'))),
  /** TransactionError as JSON text; null if there is none. */
  transactionError: z.unknown().transform(transactionErrorText),
};
