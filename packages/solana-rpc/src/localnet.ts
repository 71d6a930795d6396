import { RpcError } from './rpc-error.ts';
import { callRpc, createRpcTransport } from './transport.ts';

/** Default URL of a local cluster, with the default port of `solana-test-validator`. */
export const LOCAL_RPC_URL = 'http://127.0.0.1:8899';

const TIMEOUT_MS = 30_000;
/** The largest exact JSON number, about nine million SOL. */
const MAX_LAMPORTS = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * Calls a method that only a local cluster has. The result is not checked.
 * @throws RpcError with `METHOD_NOT_FOUND` from every other cluster.
 */
export function callLocalnet(rpcUrl: string, method: `localnet_${string}`, params: object): Promise<unknown> {
  // One attempt: a repeated call would create or fund twice.
  return callRpc(createRpcTransport({ url: rpcUrl, timeoutMs: TIMEOUT_MS, maxAttempts: 1 }), method, [params]);
}

/**
 * Creates a mint on a local cluster, which keeps its authority.
 * @returns the address of the mint, base58
 * @throws RpcError
 */
export async function createMint(
  rpcUrl: string,
  { decimals, token2022 = false }: { readonly decimals: number; readonly token2022?: boolean },
): Promise<string> {
  const created = await callLocalnet(rpcUrl, 'localnet_createMint', { decimals, token2022 });
  if (typeof created === 'object' && created !== null && 'mint' in created && typeof created.mint === 'string') {
    return created.mint;
  }
  const text = `localnet_createMint returned no mint: ${JSON.stringify(created)}`;
  throw new RpcError({ reason: 'invalid-answer', host: new URL(rpcUrl).host, text });
}

/** An address and what it receives: lamports, base units of a mint’s token, or both. `mint` and `baseUnits` belong together. */
export interface Funding {
  readonly address: string;
  /** At most 2^53 - 1. */
  readonly lamports?: bigint;
  readonly mint?: string;
  readonly baseUnits?: bigint;
}

/**
 * Gives an address of a local cluster new lamports, new tokens or both, and creates its token account if needed.
 * @throws RangeError for more lamports than one call can give; RpcError
 */
export async function fundAccount(rpcUrl: string, { address, lamports, mint, baseUnits }: Funding): Promise<void> {
  if (lamports !== undefined && lamports > MAX_LAMPORTS) {
    throw new RangeError(`${lamports} lamports are too many: at most ${MAX_LAMPORTS} per call.`);
  }
  await callLocalnet(rpcUrl, 'localnet_fund', {
    address,
    ...(lamports === undefined ? {} : { lamports: Number(lamports) }),
    ...(mint === undefined || baseUnits === undefined ? {} : { mint, amount: String(baseUnits) }),
  });
}
