import { address } from '@solana/kit';
import { findAssociatedTokenPda } from '@solana-program/token';
import type { Registered, Story } from './story.ts';

/** Base units of a project’s token that an address holds, as the cluster says; 0 without an account for them. */
export async function tokensOf({ world }: Story, { projectId }: Registered, owner: string): Promise<bigint> {
  const token = await world.db
    .selectFrom('tokens')
    .select(['mint', 'program_address as tokenProgram'])
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow();
  const [account] = await findAssociatedTokenPda({ ...token, owner: address(owner) });
  const found = await world.rpc.getAccountInfo(account, { encoding: 'base64', commitment: 'confirmed' }).send();
  if (!found.value) return 0n;
  const { value } = await world.rpc.getTokenAccountBalance(account, { commitment: 'confirmed' }).send();
  return BigInt(value.amount);
}

/** Lamports that an address holds, as the cluster says. */
export async function lamportsOf({ world }: Story, owner: string): Promise<bigint> {
  const { value } = await world.rpc.getBalance(address(owner), { commitment: 'confirmed' }).send();
  return value;
}

/** Base units to a token that was created on the page. */
export const BASE_UNITS = 1_000_000n;
