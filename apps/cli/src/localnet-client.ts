import { callRpc, createRpcTransport, RpcError } from '@flywheel/solana-rpc';
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

const TIMEOUT_MS = 30_000;

/**
 * Calls a method that only a local cluster has.
 * @throws CliError `ERR_CLUSTER` if the cluster does not answer, is not a local one, or answers with an error.
 */
export async function callLocalnet(rpcUrl: string, method: `localnet_${string}`, params: object): Promise<unknown> {
  // One attempt: funding twice would give twice the amount.
  const transport = createRpcTransport({ url: rpcUrl, timeoutMs: TIMEOUT_MS, maxAttempts: 1 });
  try {
    return await callRpc(transport, method, [params]);
  } catch (error) {
    throw toClusterError(error, { rpcUrl, method });
  }
}

/** JSON-RPC 2.0: the method does not exist. */
const METHOD_NOT_FOUND = -32_601;

/** Converts an error of a JSON-RPC call to one with the next step; other errors stay what they are. */
export function toClusterError(
  error: unknown,
  { rpcUrl, method }: { readonly rpcUrl: string; readonly method: string },
): unknown {
  if (!(error instanceof RpcError)) return error;
  const url = displayUrl(rpcUrl);
  switch (error.reason) {
    case 'unreachable':
    case 'timeout':
      return new CliError(
        'ERR_CLUSTER',
        `No cluster answers at ${url}. Start one with npm start or flywheel localnet start, or set SOLANA_RPC_URL.`,
        { cause: error, exitCode: NO_ANSWER_EXIT_CODE },
      );
    case 'http-status':
    case 'invalid-answer': {
      const message = `${error.message.replace(/\.?$/, '.')} Check that ${url} is a Solana RPC URL.`;
      return new CliError('ERR_CLUSTER', message, { cause: error });
    }
    case 'node-error': {
      const message =
        error.code === METHOD_NOT_FOUND
          ? `The cluster at ${url} is not a local cluster: it has no method ${method}.`
          : `${method}: ${error.message}`;
      return new CliError('ERR_CLUSTER', message, { cause: error });
    }
    default:
      return error.reason satisfies never;
  }
}
