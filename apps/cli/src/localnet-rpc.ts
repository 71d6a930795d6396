import { CliError } from './errors.ts';

interface RpcReply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** JSON-RPC 2.0, error object: the method does not exist. */
const METHOD_NOT_FOUND = -32_601;
const TIMEOUT_MS = 30_000;

/**
 * Calls a method of the local cluster that no other cluster has.
 * @throws CliError `ERR_CLUSTER` when nothing answers, when it is no local cluster, or with the cluster’s words.
 */
export async function callLocalnet(rpcUrl: string, method: `localnet_${string}`, params: object): Promise<unknown> {
  const reply = await post(rpcUrl, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [params] }));
  if (reply.error?.code === METHOD_NOT_FOUND) {
    throw new CliError('ERR_CLUSTER', `The cluster at ${rpcUrl} is not a local one: it does not know ${method}.`);
  }
  if (reply.error) throw new CliError('ERR_CLUSTER', `${method}: ${reply.error.message}`);
  return reply.result;
}

async function post(rpcUrl: string, body: string): Promise<RpcReply> {
  let response: Response;
  try {
    response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (cause) {
    throw new CliError(
      'ERR_CLUSTER',
      `No cluster answers at ${rpcUrl}. Start one with npm start or flywheel localnet start, or set SOLANA_RPC_URL.`,
      { cause },
    );
  }
  const parsed: unknown = await response.json().catch(() => null);
  if (typeof parsed !== 'object' || parsed === null) {
    throw new CliError(
      'ERR_CLUSTER',
      `${rpcUrl} answered ${response.status} with no JSON: is it a Solana RPC address?`,
    );
  }
  return parsed;
}
