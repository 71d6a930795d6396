import { CONSOLE_OPERATIONS } from '@flywheel/api';
import { createFlywheelClient, type FlywheelClient } from '@flywheel/sdk';
import { callRpc, createRpcTransport, RpcError } from '@flywheel/solana-rpc';
import { type ConsoleClient, createConsoleClient } from './console-client.ts';
import { CliError } from './errors.ts';
import type { Output } from './output.ts';

/** The dependencies of every command. */
export interface Context {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly output: Output;
}

export interface UrlOption {
  readonly url?: string;
}

export interface RpcUrlOption {
  readonly rpcUrl?: string;
}

const DEFAULT_URL = 'http://127.0.0.1:4000';
const DEFAULT_RPC_URL = 'http://127.0.0.1:8899';

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
  return createFlywheelClient({
    url: serviceUrl(context, options),
    apiKey: requireApiKey(context),
    onRetry: ({ error, waitMs }) => {
      if (error.retryAfterSeconds === null) return;
      context.output.note(`${error.message} Retrying in ${Math.ceil(waitMs / 1_000)} s.`);
    },
  });
}

export function openConsole(context: Context, options: UrlOption): ConsoleClient {
  return createConsoleClient({ url: serviceUrl(context, options) });
}

/** The service’s URL: `--url`, FLYWHEEL_URL, or the default port of this machine. */
export function serviceUrl({ environment }: Context, { url }: UrlOption): string {
  const text = url ?? environment.FLYWHEEL_URL ?? DEFAULT_URL;
  if (isHttpUrl(text)) return text;
  throw new CliError('ERR_USAGE', `${text} is not an http(s) URL. Set FLYWHEEL_URL to one like ${DEFAULT_URL}.`);
}

/** The local cluster’s RPC URL: `--rpc-url`, SOLANA_RPC_URL, or the default port of this machine. */
export async function localRpcUrl({ environment }: Context, { rpcUrl }: RpcUrlOption): Promise<string> {
  const text = rpcUrl ?? (environment.SOLANA_RPC_URL || DEFAULT_RPC_URL);
  const urls = text.split(',').map((url) => url.trim());
  if (urls.every(isHttpUrl)) return chooseNode(urls);
  // The value is not quoted: an RPC URL may contain a provider’s key.
  throw new CliError(
    'ERR_USAGE',
    `The RPC URL is not an http(s) URL. Set SOLANA_RPC_URL to one like ${DEFAULT_RPC_URL}, or to several, separated by commas.`,
  );
}

/** A healthy node answers within two seconds. */
const HEALTH_TIMEOUT_MS = 5_000;

/**
 * Chooses the node that answers a whole command, because nodes are not at the same slot: the first healthy one of a list. If
 * none is, the first is chosen, and its error is shown.
 */
async function chooseNode([first = '', ...others]: readonly string[]): Promise<string> {
  if (others.length === 0) return first;
  for (const url of [first, ...others]) {
    const transport = createRpcTransport({ url, timeoutMs: HEALTH_TIMEOUT_MS, maxAttempts: 1 });
    try {
      await callRpc(transport, 'getHealth');
      return url;
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
    }
  }
  return first;
}

/** The RPC URL of a node to read from: `--rpc-url`, SOLANA_RPC_URL, or the node that the service publishes. */
export async function resolveRpcUrl(context: Context, options: UrlOption & RpcUrlOption): Promise<string> {
  if (options.rpcUrl !== undefined || context.environment.SOLANA_RPC_URL) return localRpcUrl(context, options);
  return (await openConsole(context, options).call(CONSOLE_OPERATIONS.getEnvironment, {})).rpcUrl;
}

/**
 * The RPC URL of the node at which a signature is verified: `--rpc-url`, SOLANA_RPC_URL, or the node that a service on this
 * machine publishes. Another service must not choose it: what it could lie about is what the node is asked for.
 * @throws CliError `ERR_CLUSTER` if the service is on another machine and no node is named.
 */
export async function trustedRpcUrl(context: Context, options: UrlOption & RpcUrlOption): Promise<string> {
  const isNamed = options.rpcUrl !== undefined || Boolean(context.environment.SOLANA_RPC_URL);
  const url = serviceUrl(context, options);
  if (isNamed || LOOPBACK_HOSTS.has(new URL(url).hostname)) return resolveRpcUrl(context, options);
  throw new CliError(
    'ERR_CLUSTER',
    `Before the wallet signs, the chain is read at a Solana node that you choose, not at one that ${displayUrl(url)} names. Set SOLANA_RPC_URL or --rpc-url.`,
  );
}

/**
 * A URL for people: its host alone, because the rest may contain a provider’s key. A URL on this machine that has nothing
 * but a host and a port stays whole.
 */
export function displayUrl(url: string): string {
  const { hostname, host, origin } = new URL(url);
  return LOOPBACK_HOSTS.has(hostname) && url.replace(/\/$/, '') === origin ? url : host;
}

const LOOPBACK_HOSTS = new Set(['127.0.0.1', 'localhost', '[::1]']);

/**
 * The command to print in hints that people copy: npm sets `npm_command` for what it starts, and then `flywheel` is
 * usually not on the PATH of their shell.
 */
export function programName({ environment }: Pick<Context, 'environment'>): string {
  return environment.npm_command === undefined ? 'flywheel' : 'npx flywheel';
}

function isHttpUrl(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text);
}
