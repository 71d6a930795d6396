import { displayUrl } from './context.ts';
import { CliError, NO_ANSWER_EXIT_CODE } from './errors.ts';

export interface MintRequest {
  readonly decimals: number;
  readonly token2022?: boolean;
}

/** Creates a mint whose authority stays with the local cluster. @returns its address. */
export async function createMint(rpcUrl: string, { decimals, token2022 = false }: MintRequest): Promise<string> {
  const created = await callLocalnet(rpcUrl, 'localnet_createMint', { decimals, token2022 });
  if (typeof created === 'object' && created !== null && 'mint' in created && typeof created.mint === 'string') {
    return created.mint;
  }
  throw new CliError('ERR_CLUSTER', `localnet_createMint returned no mint: ${JSON.stringify(created)}`);
}

export interface Funding {
  readonly address: string;
  readonly lamports?: bigint;
  readonly mint?: string;
  readonly amountBaseUnits?: bigint;
}

/** The largest exact JSON number, about nine million SOL. */
const MAX_LAMPORTS = BigInt(Number.MAX_SAFE_INTEGER);

/** Gives an address new lamports, new tokens or both, and creates its token account if needed. */
export async function fund(rpcUrl: string, { address, lamports, mint, amountBaseUnits }: Funding): Promise<void> {
  if (lamports !== undefined && lamports > MAX_LAMPORTS) {
    throw new CliError('ERR_USAGE', `${lamports} lamports are too many: at most ${MAX_LAMPORTS} per call.`);
  }
  await callLocalnet(rpcUrl, 'localnet_fund', {
    address,
    ...(lamports === undefined ? {} : { lamports: Number(lamports) }),
    ...(mint === undefined || amountBaseUnits === undefined ? {} : { mint, amount: amountBaseUnits.toString() }),
  });
}

interface RpcReply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** JSON-RPC 2.0: the method does not exist. */
const METHOD_NOT_FOUND = -32_601;
const TIMEOUT_MS = 30_000;

/**
 * Calls a method that only a local cluster has.
 * @throws CliError `ERR_CLUSTER` if the cluster does not answer, is not a local one, or answers with an error.
 */
export async function callLocalnet(rpcUrl: string, method: `localnet_${string}`, params: object): Promise<unknown> {
  const reply = await post(rpcUrl, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [params] }));
  if (reply.error?.code === METHOD_NOT_FOUND) {
    const message = `The cluster at ${displayUrl(rpcUrl)} is not a local cluster: it has no method ${method}.`;
    throw new CliError('ERR_CLUSTER', message);
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
    throw noClusterError(rpcUrl, cause);
  }
  const parsed: unknown = await response.json().catch(() => null);
  if (typeof parsed === 'object' && parsed !== null) return parsed;
  const message = `${displayUrl(rpcUrl)} answered ${response.status} without JSON. Check that it is a Solana RPC URL.`;
  throw new CliError('ERR_CLUSTER', message);
}

export function noClusterError(rpcUrl: string, cause: unknown): CliError {
  return new CliError(
    'ERR_CLUSTER',
    `No cluster answers at ${displayUrl(rpcUrl)}. Start one with npm start or flywheel localnet start, or set SOLANA_RPC_URL.`,
    { cause, exitCode: NO_ANSWER_EXIT_CODE },
  );
}
