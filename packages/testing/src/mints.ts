import { type Address, generateKeyPairSigner, type Instruction, type KeyPairSigner } from '@solana/kit';
import { getCreateAccountInstruction } from '@solana-program/system';
import {
  findAssociatedTokenPda,
  getCloseAccountInstruction,
  getCreateAssociatedTokenIdempotentInstruction,
  getFreezeAccountInstruction,
  getInitializeAccount3Instruction,
  getInitializeMint2Instruction,
  getMintSize,
  getMintToInstruction,
  getTokenSize,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';
import {
  AccountState,
  type ExtensionArgs,
  getBurnCheckedInstruction,
  getInitializeDefaultAccountStateInstruction,
  getInitializeMint2Instruction as getInitializeMint2022Instruction,
  getInitializeMintCloseAuthorityInstruction,
  getInitializePermanentDelegateInstruction,
  getInitializeTransferFeeConfigInstruction,
  getMintSize as getMint2022Size,
  getSetTransferFeeInstruction,
  getUpdateDefaultAccountStateInstruction,
  TOKEN_2022_PROGRAM_ADDRESS,
} from '@solana-program/token-2022';
import { land, tokenAccountOf } from './chain.ts';
import type { World } from './world.ts';

type Cluster = Pick<World, 'rpc' | 'localnet'>;

/** A mint that the test can freeze. */
export interface OwnMint {
  readonly address: Address;
  readonly programAddress: Address;
  /** Pays, mints and freezes. */
  readonly authority: KeyPairSigner;
}

/** Creates a mint of either token program with 6 decimals. */
export async function createOwnMint(cluster: Cluster, isToken2022: boolean): Promise<OwnMint> {
  const programAddress = isToken2022 ? TOKEN_2022_PROGRAM_ADDRESS : TOKEN_PROGRAM_ADDRESS;
  const [authority, mint] = await Promise.all([fundedSigner(cluster), generateKeyPairSigner()]);
  const space = getMintSize();
  const lamports = await cluster.rpc.getMinimumBalanceForRentExemption(BigInt(space)).send();
  await land(cluster, authority, [
    getCreateAccountInstruction({ payer: authority, newAccount: mint, lamports, space, programAddress }),
    getInitializeMint2Instruction(
      {
        mint: mint.address,
        decimals: 6,
        mintAuthority: authority.address,
        freezeAuthority: authority.address,
      },
      { programAddress },
    ),
  ]);
  return { address: mint.address, programAddress, authority };
}

/** Mints base units to an owner's associated token account, which it creates. */
export async function mintTo(cluster: Cluster, mint: OwnMint, owner: Address, amount: bigint): Promise<Address> {
  const token = await associatedTokenAccount(mint, owner);
  await land(cluster, mint.authority, [
    getCreateAssociatedTokenIdempotentInstruction({
      payer: mint.authority,
      ata: token,
      owner,
      mint: mint.address,
      tokenProgram: mint.programAddress,
    }),
    getMintToInstruction(
      { mint: mint.address, token, mintAuthority: mint.authority, amount },
      { programAddress: mint.programAddress },
    ),
  ]);
  return token;
}

/** Freezes a token account: it can neither send nor receive. */
export function freeze(cluster: Cluster, mint: OwnMint, account: Address): Promise<void> {
  const { address, authority, programAddress } = mint;
  const instruction = getFreezeAccountInstruction({ account, mint: address, owner: authority }, { programAddress });
  return land(cluster, authority, [instruction]);
}

/** Creates a token account that is not an associated one, so that its address is on the curve, like a wallet's. */
export async function createPlainTokenAccount(cluster: Cluster, mint: OwnMint): Promise<Address> {
  const { authority, programAddress } = mint;
  const account = await generateKeyPairSigner();
  const space = getTokenSize();
  const lamports = await cluster.rpc.getMinimumBalanceForRentExemption(BigInt(space)).send();
  await land(cluster, authority, [
    getCreateAccountInstruction({ payer: authority, newAccount: account, lamports, space, programAddress }),
    getInitializeAccount3Instruction(
      { account: account.address, mint: mint.address, owner: authority.address },
      { programAddress },
    ),
  ]);
  return account.address;
}

export async function associatedTokenAccount(
  { address: mint, programAddress }: OwnMint,
  owner: Address,
): Promise<Address> {
  const [token] = await findAssociatedTokenPda({ owner, mint, tokenProgram: programAddress });
  return token;
}

export async function fundedSigner({ localnet }: Cluster): Promise<KeyPairSigner> {
  const signer = await generateKeyPairSigner();
  await localnet.bank.airdrop(signer.address, 1_000_000_000n);
  return signer;
}

/** Creates a Token-2022 mint with 6 decimals whose authority can burn the tokens of others, such as the vault's. */
export function createSeizableMint(world: World): Promise<OwnMint> {
  return createExtendedMint(world, (mint, authority) => ({
    extension: { __kind: 'PermanentDelegate', delegate: authority },
    initialize: getInitializePermanentDelegateInstruction({ mint, delegate: authority }),
  }));
}

/** Creates a Token-2022 mint with 6 decimals that its authority can close while no token of it exists. */
export function createClosableMint(world: World): Promise<OwnMint> {
  return createExtendedMint(world, (mint, authority) => ({
    extension: { __kind: 'MintCloseAuthority', closeAuthority: authority },
    initialize: getInitializeMintCloseAuthorityInstruction({ mint, closeAuthority: authority }),
  }));
}

/** Creates a Token-2022 mint with 6 decimals that `freezeNewAccounts` changes. */
export function createFreezableMint(world: World): Promise<OwnMint> {
  return createExtendedMint(world, (mint, authority) => ({
    extension: { __kind: 'DefaultAccountState', state: AccountState.Initialized },
    initialize: getInitializeDefaultAccountStateInstruction({ mint, state: AccountState.Initialized }),
    freezeAuthority: authority,
  }));
}

/** Makes a mint of `createFreezableMint` freeze each token account that is created from now on. */
export function freezeNewAccounts(cluster: Cluster, { address: mint, authority }: OwnMint): Promise<void> {
  const state = AccountState.Frozen;
  return land(cluster, authority, [
    getUpdateDefaultAccountStateInstruction({ mint, freezeAuthority: authority, state }),
  ]);
}

/** Creates a Token-2022 mint with 6 decimals and a transfer fee of zero, which `scheduleFee` changes. */
export function createFeeMint(world: World): Promise<OwnMint> {
  const noFee = { epoch: 0n, maximumFee: 0n, transferFeeBasisPoints: 0 };
  return createExtendedMint(world, (mint, authority) => {
    const authorities = { transferFeeConfigAuthority: authority, withdrawWithheldAuthority: authority };
    const fees = { withheldAmount: 0n, olderTransferFee: noFee, newerTransferFee: noFee };
    return {
      extension: { __kind: 'TransferFeeConfig', ...authorities, ...fees },
      initialize: getInitializeTransferFeeConfigInstruction({ mint, ...authorities, ...noFee }),
    };
  });
}

/** Sets the transfer fee of a mint of `createFeeMint`. It applies two epochs later. */
export function scheduleFee(
  cluster: Cluster,
  { address: mint, authority }: OwnMint,
  transferFeeBasisPoints: number,
): Promise<void> {
  const fee = { transferFeeBasisPoints, maximumFee: 2n ** 64n - 1n };
  return land(cluster, authority, [
    getSetTransferFeeInstruction({ mint, transferFeeConfigAuthority: authority, ...fee }),
  ]);
}

async function createExtendedMint(
  world: World,
  extend: (
    mint: Address,
    authority: Address,
  ) => { readonly extension: ExtensionArgs; readonly initialize: Instruction; readonly freezeAuthority?: Address },
): Promise<OwnMint> {
  const [authority, mint] = await Promise.all([fundedSigner(world), generateKeyPairSigner()]);
  const { extension, initialize, freezeAuthority } = extend(mint.address, authority.address);
  const space = getMint2022Size([extension]);
  const lamports = await world.rpc.getMinimumBalanceForRentExemption(BigInt(space)).send();
  const programAddress = TOKEN_2022_PROGRAM_ADDRESS;
  await land(world, authority, [
    getCreateAccountInstruction({ payer: authority, newAccount: mint, lamports, space, programAddress }),
    initialize,
    getInitializeMint2022Instruction({
      mint: mint.address,
      decimals: 6,
      mintAuthority: authority.address,
      ...(freezeAuthority && { freezeAuthority }),
    }),
  ]);
  return { address: mint.address, programAddress, authority };
}

/** Closes a mint of `createClosableMint`. */
export function closeMint(world: World, { address, authority }: OwnMint): Promise<void> {
  const close = { account: address, destination: authority.address, owner: authority };
  return land(world, authority, [getCloseAccountInstruction(close, { programAddress: TOKEN_2022_PROGRAM_ADDRESS })]);
}

/** Burns base units of another owner. */
export async function seize(
  world: World,
  { address: mint, authority }: { readonly address: Address; readonly authority: KeyPairSigner },
  owner: Address,
  amount: bigint,
): Promise<void> {
  const account = await tokenAccountOf(world, mint, owner);
  await land(world, authority, [getBurnCheckedInstruction({ account, mint, authority, amount, decimals: 6 })]);
}
