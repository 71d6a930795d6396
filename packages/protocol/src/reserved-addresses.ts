import type { Address } from '@solana/kit';

/** Owns every sysvar. */
export const SYSVAR_OWNER_ADDRESS = 'Sysvar1111111111111111111111111111111111111' as Address;
export const SYSVAR_CLOCK_ADDRESS = 'SysvarC1ock11111111111111111111111111111111' as Address;
export const VOTE_PROGRAM_ADDRESS = 'Vote111111111111111111111111111111111111111' as Address;
export const STAKE_PROGRAM_ADDRESS = 'Stake11111111111111111111111111111111111111' as Address;
export const CONFIG_PROGRAM_ADDRESS = 'Config1111111111111111111111111111111111111' as Address;
/** Owns the accounts of the cluster's features. */
export const FEATURE_PROGRAM_ADDRESS = 'Feature111111111111111111111111111111111111' as Address;
/** Burns what it receives. */
export const INCINERATOR_ADDRESS = '1nc1nerator11111111111111111111111111111111' as Address;
/** Mint of wrapped SOL. */
export const NATIVE_MINT_ADDRESS = 'So11111111111111111111111111111111111111112' as Address;
/** Mint of wrapped SOL of Token-2022. */
export const NATIVE_MINT_2022_ADDRESS = '9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXej9' as Address;

/**
 * Describes an address that belongs to the cluster itself, so that no wallet can have it: a native or common program, a
 * sysvar, or a well-known account. Null for every other address.
 */
export function describeReservedAddress(address: string): string | null {
  return RESERVED.get(address) ?? null;
}

const PROGRAMS = {
  '11111111111111111111111111111111': 'System',
  [VOTE_PROGRAM_ADDRESS]: 'Vote',
  [STAKE_PROGRAM_ADDRESS]: 'Stake',
  [CONFIG_PROGRAM_ADDRESS]: 'Config',
  ComputeBudget111111111111111111111111111111: 'Compute Budget',
  AddressLookupTab1e1111111111111111111111111: 'Address Lookup Table',
  Ed25519SigVerify111111111111111111111111111: 'Ed25519',
  KeccakSecp256k11111111111111111111111111111: 'Secp256k1',
  Secp256r1SigVerify1111111111111111111111111: 'Secp256r1',
  ZkE1Gama1Proof11111111111111111111111111111: 'ZK ElGamal Proof',
  NativeLoader1111111111111111111111111111111: 'Native Loader',
  BPFLoader1111111111111111111111111111111111: 'BPF Loader 1',
  BPFLoader2111111111111111111111111111111111: 'BPF Loader 2',
  BPFLoaderUpgradeab1e11111111111111111111111: 'Upgradeable BPF Loader',
  LoaderV411111111111111111111111111111111111: 'Loader v4',
  TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA: 'Token',
  TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb: 'Token-2022',
  ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL: 'Associated Token Account',
  Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo: 'Memo v1',
  MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr: 'Memo',
  SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf: 'Squads',
} as const;

const SYSVARS = {
  [SYSVAR_CLOCK_ADDRESS]: 'Clock',
  SysvarEpochRewards1111111111111111111111111: 'EpochRewards',
  SysvarEpochSchedu1e111111111111111111111111: 'EpochSchedule',
  SysvarFees111111111111111111111111111111111: 'Fees',
  Sysvar1nstructions1111111111111111111111111: 'Instructions',
  SysvarLastRestartS1ot1111111111111111111111: 'LastRestartSlot',
  SysvarRecentB1ockHashes11111111111111111111: 'RecentBlockhashes',
  SysvarRent111111111111111111111111111111111: 'Rent',
  SysvarRewards111111111111111111111111111111: 'Rewards',
  SysvarS1otHashes111111111111111111111111111: 'SlotHashes',
  SysvarS1otHistory11111111111111111111111111: 'SlotHistory',
  SysvarStakeHistory1111111111111111111111111: 'StakeHistory',
} as const;

const OTHERS = {
  [SYSVAR_OWNER_ADDRESS]: 'the owner of the sysvars',
  [FEATURE_PROGRAM_ADDRESS]: 'the owner of the cluster’s features',
  StakeConfig11111111111111111111111111111111: 'the cluster’s stake configuration',
  [INCINERATOR_ADDRESS]: 'the incinerator, whose tokens are lost',
  [NATIVE_MINT_ADDRESS]: 'the mint of wrapped SOL',
  [NATIVE_MINT_2022_ADDRESS]: 'the mint of wrapped SOL of Token-2022',
} as const;

const RESERVED: ReadonlyMap<string, string> = /* @__PURE__ */ (() =>
  new Map([
    ...Object.entries(PROGRAMS).map(([address, name]) => [address, `the ${name} program`] as const),
    ...Object.entries(SYSVARS).map(([address, name]) => [address, `the sysvar ${name}`] as const),
    ...Object.entries(OTHERS),
  ]))();

/** Every address that `describeReservedAddress` describes. */
export const RESERVED_ADDRESSES: readonly string[] = /* @__PURE__ */ (() => [...RESERVED.keys()])();
