import { createFlywheelClient, type FlywheelClient } from '@flywheel/sdk';
import { createConsoleClient } from './console-client.ts';
import { CliError } from './errors.ts';
import type { Output } from './output.ts';

/** What every command is given. */
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

/** FLYWHEEL_API_KEY; never an argument: those are visible to every process. */
export function apiKeyOf({ environment }: Context): string {
  const apiKey = environment.FLYWHEEL_API_KEY;
  if (apiKey) return apiKey;
  throw new CliError('ERR_API_KEY_MISSING', 'No API key. Set FLYWHEEL_API_KEY; flywheel register shows one.');
}

/** A client with the API key of the environment. */
export function openClient(context: Context, options: UrlOption): FlywheelClient {
  const { output } = context;
  const apiKey = apiKeyOf(context);
  return createFlywheelClient({
    url: serviceUrl(context, options),
    apiKey,
    onRetry: ({ error, waitMs }) => {
      if (error.retryAfterSeconds === null) return;
      output.note(`${error.message} Going on by itself in ${Math.ceil(waitMs / 1_000)} s.`);
    },
  });
}

export function openConsole(context: Context, options: UrlOption) {
  return createConsoleClient({ url: serviceUrl(context, options) });
}

/** The cluster’s JSON-RPC: the option, SOLANA_RPC_URL, or the local cluster’s usual place. */
export function rpcUrlOf({ environment }: Context, { rpcUrl }: RpcUrlOption): string {
  return httpUrl(rpcUrl ?? environment.SOLANA_RPC_URL ?? DEFAULT_RPC_URL, 'SOLANA_RPC_URL');
}

/** The cluster’s JSON-RPC: the option, SOLANA_RPC_URL, or where the service tells browsers to find it. */
export async function askedRpcUrlOf(context: Context, options: UrlOption & RpcUrlOption): Promise<string> {
  if (options.rpcUrl !== undefined || context.environment.SOLANA_RPC_URL) return rpcUrlOf(context, options);
  return (await openConsole(context, options).readEnvironment()).rpcUrl;
}

/** Where the service is: the option, FLYWHEEL_URL, or the usual place. */
export function serviceUrl({ environment }: Context, { url }: UrlOption): string {
  return httpUrl(url ?? environment.FLYWHEEL_URL ?? DEFAULT_URL, 'FLYWHEEL_URL');
}

function httpUrl(text: string, variable: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new CliError('ERR_USAGE', `${text} is no http(s) address. Set ${variable} to one like ${DEFAULT_URL}.`);
}
