import {
  idParam,
  LOCAL_SERVICE_URL,
  MAX_OVERLAP_SECONDS,
  PROOF_TYPE,
  type ProofType,
  Scope,
  WebhookTopic,
} from '@flywheel/api';
import { isAddress, MAX_DECIMALS, toBaseUnits } from '@flywheel/protocol';
import { LOCAL_RPC_URL } from '@flywheel/solana-rpc';
import type { Address } from '@solana/kit';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { isHttpUrl, type RpcUrlOption, type UrlOption } from './context.ts';

/** Adds `--wallet`. */
export function addWalletOption(command: Command): Command {
  return command.requiredOption('--wallet <file>', 'keypair file of the project’s wallet (Solana CLI format)');
}

/** Adds `<file>`, which `readRequestFile` reads. */
export function addRequestArgument(command: Command): Command {
  return command.argument('<file>', 'init request as JSON: {"pipelines": [...]}');
}

/** Adds `<batch-id>` of a command that goes on with a batch of `init`. */
export function addBatchArgument(command: Command): Command {
  return command.argument('<batch-id>', 'batch.id in the answer of init', parseId);
}

/** Adds `--url`, the service. */
export function addUrlOption(command: Command): Command {
  return command.option('--url <url>', `service URL; default: FLYWHEEL_URL or ${LOCAL_SERVICE_URL}`);
}

/** Adds `--rpc-url` of a command that reads the chain itself. */
export function addRpcUrlOption(command: Command): Command {
  return command.option(
    '--rpc-url <url>',
    'node to read from, or several; default: SOLANA_RPC_URL or the service’s public node',
  );
}

/** Adds `--rpc-url` of a command that controls a local cluster. */
export function addLocalRpcUrlOption(command: Command): Command {
  return command.option('--rpc-url <url>', `local cluster; default: SOLANA_RPC_URL or ${LOCAL_RPC_URL}`);
}

/**
 * Adds `--rpc-url` of a command that needs no node unless it is given one; `optionalRpcUrl` reads it. Its first name,
 * `--rpc`, is accepted too, and not shown.
 */
export function addOptionalRpcUrlOption(command: Command, description: string): Command {
  return command.option('--rpc-url <url>', description).addOption(new Option('--rpc <url>').hideHelp());
}

interface RunNumberOptions {
  readonly again?: boolean;
  readonly run?: number;
  readonly rest?: boolean;
}

/** More runs of one file than that are an error of a script. */
const MAX_RUN = 1_000;

/** Options of a command that pays from a file with the project’s wallet. */
export interface PaymentOptions extends UrlOption, RpcUrlOption, RunNumberOptions {
  readonly wallet: string;
  readonly trust: readonly string[];
}

/** Adds `--wallet`, `--trust`, `--rpc-url`, `--url`, and which payment of the same file a command line means. */
export function addPaymentOptions(command: Command): Command {
  const described = addVaultTrustOption(addWalletOption(command));
  return addUrlOption(addRpcUrlOption(addRunNumberOptions(described)));
}

/** Adds `--trust`, which names the vault of a project. */
export function addVaultTrustOption(command: Command): Command {
  return addTrustOption(command, 'the vault of a project that this computer does not know');
}

/** Adds `--trust`. @param what it names. */
export function addTrustOption(command: Command, what: string): Command {
  const add = (text: string, previous: readonly string[]) => [...previous, parseAddress(text)];
  return command.option('--trust <address>', `trust ${what}; repeat for more`, add, []);
}

/** Adds `--again`, `--run` and `--rest`. */
function addRunNumberOptions(command: Command): Command {
  return command
    .option(
      '--again',
      'pay the same file a second time, after the first run has executed all of it; the same as --run 2',
    )
    .addOption(
      new Option(
        '--run <number>',
        'number of the run, from 1; a run can start when the previous run has executed everything',
      )
        .argParser(parseWholeNumber(1, MAX_RUN))
        .conflicts('again'),
    )
    .option('--rest', 'after a failure: send the pipelines that were not executed, as a new batch');
}

export function runNumberOf({ run, again = false }: RunNumberOptions): number {
  return run ?? (again ? 2 : 1);
}

/** The option that pays the same file once more, after this run. */
export function nextRunOption(run: number): string {
  return run === 1 ? '--again' : `--run ${run + 1}`;
}

const SECONDS_PER_HOUR = 3_600;

/** Option of a command that replaces a key or a secret. */
export interface OverlapOption {
  readonly overlapHours?: number | undefined;
}

/** Adds `--overlap-hours`. @param effect what lasts so long. */
export function addOverlapOption(command: Command, effect: string): Command {
  return command.option(
    '--overlap-hours <hours>',
    `how long ${effect}; 0: not at all; default: 24`,
    parseWholeNumber(0, MAX_OVERLAP_SECONDS / SECONDS_PER_HOUR),
  );
}

/** The field of a request that `--overlap-hours` sets; none without the option. */
export function overlapField({ overlapHours }: OverlapOption): { readonly overlapSeconds?: number } {
  return overlapHours === undefined ? {} : { overlapSeconds: overlapHours * SECONDS_PER_HOUR };
}

/** Returns a parser of whole numbers within bounds, both included. */
export function parseWholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

/** Parses a TCP port; 0 is any free one. */
export const parsePort = parseWholeNumber(0, 65_535);

/** The expiry of a key that does not expire. */
export const NEVER = 'never';

/** Parses `2027-01-31`, which is its start in UTC, `2027-01-31T12:00:00Z`, or `never`. @returns ISO 8601, or `never`. */
export function parseExpiry(text: string): string {
  if (text === NEVER) return NEVER;
  const time = new Date(text);
  if (/^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(text) && !Number.isNaN(time.getTime())) {
    const parsed = time.toISOString();
    // `Date` takes 30 February for 2 March.
    if (parsed.startsWith(text.slice(0, 'YYYY-MM-DD'.length))) return parsed;
  }
  throw new InvalidArgumentError(`It must be a day or a time in UTC, such as 2027-01-31T12:00:00Z, or ${NEVER}.`);
}

export function parseAddress(text: string): Address {
  if (isAddress(text)) return text;
  throw new InvalidArgumentError('It must be an address: 32 bytes in base58.');
}

/** Parses the id of a batch, or an idempotency key. */
export function parseId(text: string): string {
  const id = idParam.safeParse(text);
  if (id.success) return id.data;
  throw new InvalidArgumentError('It must be a UUID, such as 0198a3c2-7d1e-7b40-9c1f-2a6d5e8f0b31.');
}

/** Parses an amount in whole tokens; the decimals of its token are checked when they are known. @returns the text. */
export function parseTokens(text: string): string {
  if (toBaseUnits(text, MAX_DECIMALS) !== null) return text;
  throw new InvalidArgumentError('It must be an amount in whole tokens, like 500 or 0.5.');
}

export function parseHttpUrl(text: string): string {
  if (isHttpUrl(text)) return text;
  throw new InvalidArgumentError('It must be an http(s) URL.');
}

/** Parses `burn,airdrop`. */
export function parseScopes(text: string): Scope[] {
  return [...new Set(text.split(',').map((word) => word.trim()))].map((word) => {
    const scope = Scope.safeParse(word);
    if (scope.success) return scope.data;
    throw new InvalidArgumentError(`Scopes are ${Scope.options.join(', ')}.`);
  });
}

/** Parses `batch.executed,batch.failed`. */
export function parseWebhookTopics(text: string): WebhookTopic[] {
  return text.split(',').map((word) => {
    const topic = WebhookTopic.safeParse(word.trim());
    if (topic.success) return topic.data;
    throw new InvalidArgumentError(`Events are ${WebhookTopic.options.join(', ')}.`);
  });
}

/** Parses `TYPE` or `TYPE:description` of a repeatable option. */
export function addProofType(text: string, previous: readonly ProofType[]): ProofType[] {
  const [type, description] = splitOnce(text, ':');
  if (!PROOF_TYPE.test(type) || description === '') {
    throw new InvalidArgumentError(
      'It must be TYPE or TYPE:description; a type is 1 to 64 characters of A-Z a-z 0-9 _ -.',
    );
  }
  return [...previous, { type, ...(description === undefined ? {} : { description }) }];
}

/** Splits a text at the first separator. The second part is undefined if there is none. */
export function splitOnce(text: string, separator: string): readonly [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)];
}
