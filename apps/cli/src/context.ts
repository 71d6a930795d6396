import type { Readable } from 'node:stream';
import { CONSOLE_OPERATIONS, LOCAL_SERVICE_URL } from '@flywheel/api';
import { isLoopbackHost } from '@flywheel/protocol';
import { createFlywheelClient, type FlywheelClient, type Retry } from '@flywheel/sdk';
import { chooseNode, LOCAL_RPC_URL } from '@flywheel/solana-rpc';
import { type ConsoleClient, createConsoleClient } from './console-client.ts';
import { CliError } from './errors.ts';
import { shellWord } from './format.ts';
import type { Output } from './output.ts';

/** The dependencies of every command. */
export interface Context {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly output: Output;
  readonly stdin: Readable;
}

export interface UrlOption {
  readonly url?: string;
}

export interface RpcUrlOption {
  readonly rpcUrl?: string;
}

export interface OptionalRpcUrlOption extends RpcUrlOption {
  /** First name of `--rpc-url`, which still works. */
  readonly rpc?: string;
}

/**
 * Returns the project’s API key. It is read only from the environment: every process of a machine can read the
 * arguments of all others.
 */
export function requireApiKey({ environment }: Context): string {
  const apiKey = environment.FLYWHEEL_API_KEY;
  if (apiKey) return apiKey;
  throw new CliError('ERR_API_KEY_MISSING', 'FLYWHEEL_API_KEY is not set. flywheel register prints a key.');
}

/** Opens the SDK’s client with the API key of the environment; it prints a note before it waits for a rate limit. */
export function openClient(context: Context, options: UrlOption): FlywheelClient {
  const [url, apiKey] = [serviceUrl(context, options), requireApiKey(context)];
  const onRetry = ({ error, waitMs }: Retry) => {
    if (error.retryAfterSeconds === null) return;
    context.output.note(`${error.message} Retrying in ${Math.ceil(waitMs / 1_000)} s.`);
  };
  try {
    return createFlywheelClient({ url, apiKey, onRetry });
  } catch (error) {
    if (error instanceof RangeError) throw new CliError('ERR_USAGE', error.message, { cause: error });
    throw error;
  }
}

export function openConsole(context: Context, options: UrlOption): ConsoleClient {
  return createConsoleClient({ url: serviceUrl(context, options) });
}

/** The service’s URL: `--url`, FLYWHEEL_URL, or the default port of this machine. */
export function serviceUrl({ environment }: Context, { url }: UrlOption): string {
  const text = url ?? (environment.FLYWHEEL_URL || LOCAL_SERVICE_URL);
  const mayHavePassword = text.includes('@');
  if (isHttpUrl(text) && !mayHavePassword) return text;
  const reason = mayHavePassword
    ? 'The service’s URL may not have a user or password.'
    : `${text} is not an http(s) URL.`;
  throw new CliError('ERR_USAGE', `${reason} Set FLYWHEEL_URL to one like ${LOCAL_SERVICE_URL}.`);
}

/** The local cluster’s RPC URL: `--rpc-url`, SOLANA_RPC_URL, or the default port of this machine. */
export async function localRpcUrl(context: Context, options: RpcUrlOption): Promise<string> {
  return chooseNode(readRpcUrls(context, options));
}

/** The RPC URLs of the nodes to read from, without asking the service: `--rpc-url`, SOLANA_RPC_URL, or this machine. */
export function readRpcUrls({ environment }: Context, { rpcUrl }: RpcUrlOption): readonly string[] {
  const text = rpcUrl ?? (environment.SOLANA_RPC_URL || LOCAL_RPC_URL);
  const urls = text.split(',').map((url) => url.trim());
  if (urls.every(isHttpUrl)) return urls;
  // The value is not quoted: an RPC URL may contain a provider’s key.
  throw new CliError(
    'ERR_USAGE',
    `The RPC URL is not an http(s) URL. Set SOLANA_RPC_URL to one like ${LOCAL_RPC_URL}, or to several, separated by commas.`,
  );
}

/** The RPC URL of a command that needs no node unless it is given one: `--rpc-url`, or undefined. */
export function optionalRpcUrl(context: Context, { rpc, rpcUrl = rpc }: OptionalRpcUrlOption): string | undefined {
  if (rpcUrl === undefined) return undefined;
  return readRpcUrls(context, { rpcUrl })[0];
}

/** The RPC URLs of the nodes to read from: `--rpc-url`, SOLANA_RPC_URL, or the node that the service publishes. */
export async function resolveRpcUrls(context: Context, options: UrlOption & RpcUrlOption): Promise<readonly string[]> {
  if (isNodeNamed(context, options)) return readRpcUrls(context, options);
  return [(await openConsole(context, options).call(CONSOLE_OPERATIONS.getEnvironment, {})).rpcUrl];
}

function isNodeNamed({ environment }: Context, { rpcUrl }: RpcUrlOption): boolean {
  return rpcUrl !== undefined || Boolean(environment.SOLANA_RPC_URL);
}

/** The node that answers a whole command: the first healthy one of `trustedRpcUrls`. */
export async function trustedRpcUrl(context: Context, options: UrlOption & RpcUrlOption): Promise<string> {
  return chooseNode(await trustedRpcUrls(context, options));
}

/**
 * The RPC URLs of the nodes at which a signature is verified: `--rpc-url`, SOLANA_RPC_URL, or the node on this machine that a
 * service on this machine publishes. Another service must not choose it: what it could lie about is what the node is asked
 * for. An address of this machine may be a tunnel to such a service, which can name a node that lies elsewhere, or behind
 * the same tunnel.
 * @throws CliError `ERR_CLUSTER` if no node is named, and service or node may be on another machine.
 */
export async function trustedRpcUrls(context: Context, options: UrlOption & RpcUrlOption): Promise<readonly string[]> {
  if (isNodeNamed(context, options)) return resolveRpcUrls(context, options);
  const service = new URL(serviceUrl(context, options));
  if (isLoopbackHost(service.hostname)) {
    const published = await resolveRpcUrls(context, options);
    if (published.map((url) => new URL(url)).every((node) => isLocalNode(node, service))) return published;
  }
  throw new CliError(
    'ERR_CLUSTER',
    `Before the wallet signs, the chain is read at a Solana node that you choose, not at one that ${displayUrl(service.href)} names. Set SOLANA_RPC_URL or --rpc-url.`,
  );
}

function isLocalNode(node: URL, service: URL): boolean {
  return isLoopbackHost(node.hostname) && node.port !== service.port;
}

/**
 * A URL for people: its host alone, because the rest may contain a provider’s key. A URL on this machine that has nothing
 * but a host and a port stays whole.
 */
export function displayUrl(url: string): string {
  const { hostname, host, origin } = new URL(url);
  return isLoopbackHost(hostname) && url.replace(/\/$/, '') === origin ? url : host;
}

/**
 * The command to print in hints that people copy: npm sets `npm_command` for what it starts, and then `flywheel` is
 * usually not on the PATH of their shell.
 */
export function programName({ environment }: Pick<Context, 'environment'>): string {
  return environment.npm_command === undefined ? 'flywheel' : 'npx flywheel';
}

/** The end of a command that is printed to be copied: `--url`, if this command has it. */
export function urlHint({ url }: UrlOption): string {
  return url === undefined ? '' : ` --url ${shellWord(url)}`;
}

export function isHttpUrl(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text);
}
