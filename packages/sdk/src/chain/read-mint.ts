import { address, isTokenProgram, TOKEN_ACCOUNT_TYPE } from '@flywheel/protocol';
import { chooseNode, type RpcUrl } from '@flywheel/solana-rpc';
import { type Address, unwrapOption } from '@solana/kit';
import { getMintDecoder, getMintSize, getTokenSize } from '@solana-program/token';
import type { CallOptions } from '../client.ts';
import { readAccounts } from './rpc.ts';

/** A mint as a node holds it now. */
export interface Mint {
  /** Fraction digits of a whole token, 0 to 255. */
  readonly decimals: number;
  readonly tokenProgram: Address;
  /** Base units. */
  readonly supply: bigint;
  /** Authority that can create more of the token; null if there is none. */
  readonly mintAuthority: Address | null;
  /** Authority that can freeze token accounts, a vault's too; null if there is none. */
  readonly freezeAuthority: Address | null;
}

/**
 * Reads a mint of SPL Token or Token-2022.
 * @param rpcUrl a Solana node, or several of one cluster: the first healthy one answers everything.
 * @throws Error if there is no mint at the address; FlywheelError if the node does not answer.
 *
 * @example
 * const { decimals, supply } = await readMint('https://api.mainnet-beta.solana.com', mintAddress);
 */
export async function readMint(rpcUrl: RpcUrl, mint: string, { signal }: CallOptions = {}): Promise<Mint> {
  const [account] = await readAccounts(await chooseNode(rpcUrl, signal), [address(mint)], { signal });
  if (!account) throw new Error(`The mint ${mint} does not exist on this cluster.`);
  const { programAddress: owner, data } = account;
  if (!isTokenProgram(owner)) throw new Error(`${mint} is not a mint: it belongs to the program ${owner}.`);
  // With extensions of Token-2022, a mint is as large as a token account, and the byte after that says which one it is.
  const isMint = data.length === getMintSize() || data[getTokenSize()] === TOKEN_ACCOUNT_TYPE.mint;
  const decoded = isMint ? getMintDecoder().decode(data) : null;
  if (!decoded?.isInitialized) throw new Error(`${mint} is not an initialized mint.`);
  const { decimals, supply, mintAuthority, freezeAuthority } = decoded;
  return {
    decimals,
    tokenProgram: owner,
    supply,
    mintAuthority: unwrapOption(mintAuthority),
    freezeAuthority: unwrapOption(freezeAuthority),
  };
}
