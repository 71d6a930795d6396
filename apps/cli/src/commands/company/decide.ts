import { randomBytes } from 'node:crypto';
import { type DecisionSignature, describeShardFailure, type ShardFailure } from '@flywheel/api';
import {
  DECISION_NONCE_BYTES,
  type DecisionSubject,
  findDecisionIssue,
  findDecisionSizeIssue,
  startDecision,
  writeDecisionText,
  writeSignedDecision,
} from '@flywheel/protocol';
import type { KeyPairSigner } from '@solana/kit';
import type { Command } from 'commander';
import { type ConsoleClient, signText } from '../../console-client.ts';
import { type Context, type RpcUrlOption, trustedRpcUrl, type UrlOption } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { signInEverywhere } from '../../every-shard.ts';
import { readWallet } from '../../files.ts';
import { addRpcUrlOption, addUrlOption } from '../../options.ts';
import { readGenesisHash } from '../../pins.ts';

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

/**
 * Signs a decision as the text that the worker writes as well, for the cluster of the operator's own node.
 * @throws CliError `ERR_USAGE` if the text is too long.
 */
export async function signDecision(
  { wallet, rpcUrl }: Pick<Operator, 'wallet' | 'rpcUrl'>,
  subject: DecisionSubject,
): Promise<DecisionSignature> {
  const genesisHash = await readGenesisHash(rpcUrl);
  const decision = startDecision(
    { subject, genesisHash, operator: wallet.address },
    { nonce: randomBytes(DECISION_NONCE_BYTES), now: new Date() },
  );
  const text = writeDecisionText(decision);
  const sizeIssue = findDecisionSizeIssue(text);
  if (sizeIssue !== null) throw new CliError('ERR_USAGE', `Nothing was signed. ${sizeIssue}`);
  const signed = { signedMessage: new TextEncoder().encode(text), signature: await signText(wallet, text) };
  const issue = await findDecisionIssue(text, wallet.address, signed);
  if (issue !== null) throw new Error(issue);
  return writeSignedDecision(decision, signed);
}
