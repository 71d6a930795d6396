import { type Address, address, getU64Decoder } from '@solana/kit';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from './programs.ts';
import { readAccounts } from './read-accounts.ts';

export interface Mint {
  readonly decimals: number;
  readonly tokenProgram: Address;
  readonly supply: bigint;
}

/** Offsets in the 82 bytes that both token programs share (spl-token, `Mint`). */
const SUPPLY_OFFSET = 36;
const DECIMALS_OFFSET = 44;

/** @throws Error when there is no mint at the address. */
export async function readMint(rpcUrl: string, mint: string): Promise<Mint> {
  const [account] = await readAccounts(rpcUrl, [address(mint)]);
  if (!account) throw new Error(`There is no mint ${mint} on this cluster.`);
  if (account.owner !== TOKEN_PROGRAM && account.owner !== TOKEN_2022_PROGRAM) {
    throw new Error(`${mint} is no mint: it belongs to the program ${account.owner}.`);
  }
  const decimals = account.data[DECIMALS_OFFSET];
  if (decimals === undefined) throw new Error(`${mint} is no mint: it has ${account.data.length} bytes.`);
  return { decimals, tokenProgram: account.owner, supply: getU64Decoder().decode(account.data, SUPPLY_OFFSET) };
}
