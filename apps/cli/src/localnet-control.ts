import { CliError } from './errors.ts';
import { callLocalnet } from './localnet-rpc.ts';

export interface MintRequest {
  readonly decimals: number;
  readonly token2022?: boolean;
}

export interface Funding {
  readonly address: string;
  readonly lamports?: bigint;
  readonly mint?: string;
  readonly amountBaseUnits?: bigint;
}

/** JSON numbers are exact up to here: nine million SOL. */
const MAX_LAMPORTS = BigInt(Number.MAX_SAFE_INTEGER);

/** Creates a mint whose authority the local cluster keeps. @returns its address. */
export async function createMint(rpcUrl: string, { decimals, token2022 = false }: MintRequest): Promise<string> {
  const created = await callLocalnet(rpcUrl, 'localnet_createMint', { decimals, token2022 });
  if (typeof created === 'object' && created !== null && 'mint' in created && typeof created.mint === 'string') {
    return created.mint;
  }
  throw new CliError('ERR_CLUSTER', `localnet_createMint answered no mint: ${JSON.stringify(created)}`);
}

/** Gives an address lamports, tokens or both out of nothing, and its token account if it has none. */
export async function fund(rpcUrl: string, { address, lamports, mint, amountBaseUnits }: Funding): Promise<void> {
  if (lamports !== undefined && lamports > MAX_LAMPORTS) {
    throw new CliError('ERR_USAGE', `${lamports} lamports are too many at once: at most ${MAX_LAMPORTS}.`);
  }
  await callLocalnet(rpcUrl, 'localnet_fund', {
    address,
    ...(lamports === undefined ? {} : { lamports: Number(lamports) }),
    ...(mint === undefined || amountBaseUnits === undefined ? {} : { mint, amount: amountBaseUnits.toString() }),
  });
}
