import { type Address, generateKeyPairSigner, type KeyPairSigner } from '@solana/kit';
import { getCreateAccountInstruction } from '@solana-program/system';
import {
  type ExtensionArgs,
  getBurnCheckedInstruction,
  getInitializeMint2Instruction,
  getInitializePermanentDelegateInstruction,
  getMintSize,
  TOKEN_2022_PROGRAM_ADDRESS,
} from '@solana-program/token-2022';
import { land, tokenAccountOf } from '../execution/chain.ts';
import { fundedSigner, type OwnMint } from '../mint.ts';
import type { World } from '../world.ts';

/** A Token-2022 mint, 6 decimals, whose authority may also burn what others hold: the vault's tokens, for one. */
export async function createSeizableMint(world: World): Promise<OwnMint> {
  const [authority, mint] = await Promise.all([fundedSigner(world), generateKeyPairSigner()]);
  const extension: ExtensionArgs = { __kind: 'PermanentDelegate', delegate: authority.address };
  const space = getMintSize([extension]);
  const lamports = await world.rpc.getMinimumBalanceForRentExemption(BigInt(space)).send();
  const programAddress = TOKEN_2022_PROGRAM_ADDRESS;
  await land(world, authority, [
    getCreateAccountInstruction({ payer: authority, newAccount: mint, lamports, space, programAddress }),
    getInitializePermanentDelegateInstruction({ mint: mint.address, delegate: authority.address }),
    getInitializeMint2Instruction({ mint: mint.address, decimals: 6, mintAuthority: authority.address }),
  ]);
  return { address: mint.address, programAddress, authority };
}

/** Burns base units that somebody else holds. */
export async function seize(
  world: World,
  { address: mint, authority }: { readonly address: Address; readonly authority: KeyPairSigner },
  owner: Address,
  amount: bigint,
): Promise<void> {
  const account = await tokenAccountOf(world, mint, owner);
  await land(world, authority, [getBurnCheckedInstruction({ account, mint, authority, amount, decimals: 6 })]);
}
