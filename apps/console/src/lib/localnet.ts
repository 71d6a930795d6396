import { callRpc, createRpcTransport, RpcError } from '@flywheel/solana-rpc';
import { useQuery } from '@tanstack/react-query';
import { useEnvironment } from './api/environment.ts';

/** JSON-RPC 2.0: the method does not exist. */
const METHOD_NOT_FOUND = -32_601;

/**
 * Returns the URL of the local cluster if it gives SOL and tokens away; null for any other, such as a validator on the same
 * machine, and until it has answered.
 */
export function useLocalBank(): string | null {
  const environment = useEnvironment();
  const rpcUrl = environment?.rpcUrl ?? '';
  const isThere = useQuery({
    queryKey: ['local bank', rpcUrl],
    queryFn: () => hasLocalBank(rpcUrl),
    enabled: environment?.isLocal === true,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return isThere.data === true ? rpcUrl : null;
}

/** Checks if a cluster has the methods below. The call has no recipient: a cluster that has the method refuses it. */
async function hasLocalBank(rpcUrl: string): Promise<boolean> {
  try {
    await callLocalnet(rpcUrl, 'localnet_fund', {});
  } catch (error) {
    if (!(error instanceof RpcError) || error.code === null) throw error;
    return error.code !== METHOD_NOT_FOUND;
  }
  return true;
}

/** Creates a mint on the local cluster, which keeps its authority. @returns the address of the mint. */
export async function createMint(rpcUrl: string, decimals: number): Promise<string> {
  const created = await callLocalnet(rpcUrl, 'localnet_createMint', { decimals });
  if (typeof created === 'object' && created !== null && 'mint' in created && typeof created.mint === 'string') {
    return created.mint;
  }
  throw new Error(`The local cluster did not answer with a mint: ${JSON.stringify(created)}`);
}

export interface Funding {
  readonly address: string;
  readonly lamports?: bigint;
  readonly mint?: string;
  readonly baseUnits?: bigint;
}

/** Credits lamports, tokens or both to an address of the local cluster. */
export async function fundAccount(rpcUrl: string, { address, lamports, mint, baseUnits }: Funding): Promise<void> {
  await callLocalnet(rpcUrl, 'localnet_fund', {
    address,
    ...(lamports === undefined ? {} : { lamports: Number(lamports) }),
    ...(mint === undefined || baseUnits === undefined ? {} : { mint, amount: String(baseUnits) }),
  });
}

function callLocalnet(rpcUrl: string, method: `localnet_${string}`, params: object): Promise<unknown> {
  // One attempt: a repeated call would create or fund twice.
  return callRpc(createRpcTransport({ url: rpcUrl, maxAttempts: 1 }), method, [params]);
}
