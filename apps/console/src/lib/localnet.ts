import { callRpc, createRpcTransport } from '@flywheel/solana-rpc';

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
