interface Reply {
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** Creates a mint on the local cluster, which keeps its authority. @returns the address of the mint. */
export async function createMint(rpcUrl: string, decimals: number): Promise<string> {
  const created = await callLocalnet(rpcUrl, 'localnet_createMint', { decimals });
  if (typeof created === 'object' && created !== null && 'mint' in created && typeof created.mint === 'string') {
    return created.mint;
  }
  throw new Error(`The local cluster did not answer with a mint: ${JSON.stringify(created)}`);
}

/** Credits lamports, tokens or both to an address of the local cluster. */
export async function fundAccount(
  rpcUrl: string,
  funding: {
    readonly address: string;
    readonly lamports?: bigint;
    readonly mint?: string;
    readonly baseUnits?: bigint;
  },
): Promise<void> {
  const { address, lamports, mint, baseUnits } = funding;
  await callLocalnet(rpcUrl, 'localnet_fund', {
    address,
    ...(lamports === undefined ? {} : { lamports: Number(lamports) }),
    ...(mint === undefined || baseUnits === undefined ? {} : { mint, amount: String(baseUnits) }),
  });
}

async function callLocalnet(rpcUrl: string, method: `localnet_${string}`, params: object): Promise<unknown> {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [params] }),
  });
  const reply: Reply = await response.json();
  if (reply.error) throw new Error(`The local cluster answered with an error: ${reply.error.message}`);
  return reply.result;
}
