import { randomBytes } from 'node:crypto';
import { type DecisionSignature, describeShardFailure, type ShardFailure } from '@flywheel/api';
import { type DecisionSubject, findDecisionIssue, writeDecisionText } from '@flywheel/protocol';
import { readGenesisHash } from '@flywheel/sdk';
import { createSignableMessage, type KeyPairSigner } from '@solana/kit';
import type { Command } from 'commander';
import type { ConsoleClient } from '../../console-client.ts';
import { type Context, type RpcUrlOption, trustedRpcUrl, type UrlOption } from '../../context.ts';
import { signInEverywhere } from '../../every-shard.ts';
import { readWallet } from '../../files.ts';
import { addRpcUrlOption, addUrlOption } from '../../options.ts';

export interface OperatorOptions extends UrlOption, RpcUrlOption {
  readonly wallet: string;
}

/** Adds `--wallet`, the company operator's, and `--url`. */
export function addOperatorOptions(command: Command): Command {
  return addUrlOption(
    command.requiredOption('--wallet <file>', 'keypair file of a wallet that COMPANY_OPERATORS lists'),
  );
}

/** Adds `--rpc-url`, the node at which a decision is read. */
export function addDecisionOptions(command: Command): Command {
  return addRpcUrlOption(addOperatorOptions(command));
}

/** A signed-in operator, and the node at which a decision is read before it is signed. */
export interface Operator {
  readonly wallet: KeyPairSigner;
  readonly console: ConsoleClient;
  readonly rpcUrl: string;
}

export async function openOperator(context: Context, options: OperatorOptions): Promise<Operator> {
  const wallet = await readWallet(options.wallet);
  const rpcUrl = await trustedRpcUrl(context, options);
  return { wallet, console: await signInEverywhere(context, options, wallet), rpcUrl };
}

/** Signs an operator in, without a node. */
export async function openDesk(context: Context, options: OperatorOptions): Promise<ConsoleClient> {
  return signInEverywhere(context, options, await readWallet(options.wallet));
}

/**
 * Notes the shards that are missing in a list, except those that the sign-in has noted.
 * @returns the numbers of all that are missing, for `--json`; nothing if the list is complete.
 */
export function noteMissing(
  { output }: Context,
  { missing }: ConsoleClient,
  failures: readonly ShardFailure[],
): { readonly missingShards?: readonly number[] } {
  for (const failure of failures) if (!missing.includes(failure)) output.note(describeShardFailure(failure));
  return failures.length === 0 ? {} : { missingShards: failures.map(({ shard }) => shard) };
}

/** Long enough for a worker that is down or a project that is paused for a night. */
const VALID_MS = 24 * 3_600_000;

/** Signs a decision as the text that the worker writes as well, for the cluster of the operator's own node. */
export async function signDecision(
  { wallet, rpcUrl }: Pick<Operator, 'wallet' | 'rpcUrl'>,
  subject: DecisionSubject,
): Promise<DecisionSignature> {
  const nonce = randomBytes(16).toString('hex');
  const expiresAt = new Date(Date.now() + VALID_MS);
  const genesisHash = await readGenesisHash(rpcUrl);
  const text = writeDecisionText({ subject, genesisHash, operator: wallet.address, nonce, expiresAt });
  const signedMessage = new TextEncoder().encode(text);
  const [signatures] = await wallet.signMessages([createSignableMessage(text)]);
  const signature = signatures?.[wallet.address];
  if (!signature) throw new Error('The operator’s wallet gave no signature.');
  const issue = await findDecisionIssue(text, wallet.address, { signedMessage, signature });
  if (issue !== null) throw new Error(issue);
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
  return {
    nonce,
    expiresAt: expiresAt.toISOString(),
    signedMessage: base64(signedMessage),
    signature: base64(signature),
  };
}
