import { createHash } from 'node:crypto';
import {
  type Address,
  type Codec,
  getAddressCodec,
  getDiscriminatedUnionCodec,
  getEncodedSize,
  getI64Codec,
  getStructCodec,
  getU8Codec,
  getU16Codec,
  getU32Codec,
  getU64Codec,
  getUnitCodec,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { listCodec, optionCodec } from './borsh.ts';
import { type ConfigAction, configActionCodec } from './config-action.ts';
import { type Member, memberCodec } from './member.ts';
import { type VaultMessage, vaultMessageAccountCodec } from './vault-message.ts';

/** The accounts of the program that the emulated instructions read or write, with their layouts. */
export interface Accounts {
  readonly ProgramConfig: ProgramConfig;
  readonly Multisig: Multisig;
  readonly Proposal: Proposal;
  readonly Batch: Batch;
  readonly ConfigTransaction: ConfigTransaction;
  readonly VaultBatchTransaction: VaultBatchTransaction;
}

export interface ProgramConfig {
  readonly authority: Address;
  readonly multisigCreationFeeLamports: bigint;
  readonly treasury: Address;
}

export interface Multisig {
  readonly createKey: Address;
  /** The System Program's address (all zeros) when nobody may configure the multisig alone. */
  readonly configAuthority: Address;
  readonly threshold: number;
  readonly timeLockSeconds: number;
  readonly transactionIndex: bigint;
  readonly staleTransactionIndex: bigint;
  readonly rentCollector: Address | null;
  readonly bump: number;
  /** Sorted by address bytes. */
  readonly members: Member[];
}

export const permission = { initiate: 1, vote: 2, execute: 4 } as const;

export type ProposalStatus =
  | { readonly timestamp: bigint; readonly __kind: TimedStatus }
  | { readonly __kind: 'executing' };

export type TimedStatus = 'draft' | 'active' | 'rejected' | 'approved' | 'executed' | 'cancelled';

export interface Proposal {
  readonly multisig: Address;
  readonly transactionIndex: bigint;
  readonly status: ProposalStatus;
  readonly bump: number;
  /** Sorted by address bytes, as are the next two. */
  readonly approved: Address[];
  readonly rejected: Address[];
  readonly cancelled: Address[];
}

export interface Batch {
  readonly multisig: Address;
  readonly creator: Address;
  readonly index: bigint;
  readonly bump: number;
  readonly vaultIndex: number;
  readonly vaultBump: number;
  readonly size: number;
  readonly executedTransactionIndex: number;
}

export interface ConfigTransaction {
  readonly multisig: Address;
  readonly creator: Address;
  readonly index: bigint;
  readonly bump: number;
  readonly actions: ConfigAction[];
}

export interface VaultBatchTransaction {
  readonly bump: number;
  readonly ephemeralSignerBumps: number[];
  readonly message: VaultMessage;
}

const DISCRIMINATOR_BYTES = 8;
const MEMBER_BYTES = 33;
const ADDRESS_BYTES = 32;

export const BATCH_BYTES = 91;

/** Bytes of a multisig account; the rent collector's place is kept even when there is none. */
export function multisigBytes(memberCount: number): number {
  return DISCRIMINATOR_BYTES + 124 + memberCount * MEMBER_BYTES;
}

/** Bytes of a proposal account: room for every member in each of the three lists of votes. */
export function proposalBytes(memberCount: number): number {
  return DISCRIMINATOR_BYTES + 62 + 3 * memberCount * ADDRESS_BYTES;
}

const timestamped = getStructCodec([['timestamp', getI64Codec()]]);
const addresses = listCodec(getAddressCodec());

export const accountCodecs: { readonly [Name in keyof Accounts]: Codec<Accounts[Name]> } = {
  ProgramConfig: getStructCodec([
    ['authority', getAddressCodec()],
    ['multisigCreationFeeLamports', getU64Codec()],
    ['treasury', getAddressCodec()],
  ]),
  Multisig: getStructCodec([
    ['createKey', getAddressCodec()],
    ['configAuthority', getAddressCodec()],
    ['threshold', getU16Codec()],
    ['timeLockSeconds', getU32Codec()],
    ['transactionIndex', getU64Codec()],
    ['staleTransactionIndex', getU64Codec()],
    ['rentCollector', optionCodec(getAddressCodec())],
    ['bump', getU8Codec()],
    ['members', listCodec(memberCodec())],
  ]),
  Proposal: getStructCodec([
    ['multisig', getAddressCodec()],
    ['transactionIndex', getU64Codec()],
    [
      'status',
      getDiscriminatedUnionCodec([
        ['draft', timestamped],
        ['active', timestamped],
        ['rejected', timestamped],
        ['approved', timestamped],
        ['executing', getUnitCodec()],
        ['executed', timestamped],
        ['cancelled', timestamped],
      ]),
    ],
    ['bump', getU8Codec()],
    ['approved', addresses],
    ['rejected', addresses],
    ['cancelled', addresses],
  ]),
  Batch: getStructCodec([
    ['multisig', getAddressCodec()],
    ['creator', getAddressCodec()],
    ['index', getU64Codec()],
    ['bump', getU8Codec()],
    ['vaultIndex', getU8Codec()],
    ['vaultBump', getU8Codec()],
    ['size', getU32Codec()],
    ['executedTransactionIndex', getU32Codec()],
  ]),
  ConfigTransaction: getStructCodec([
    ['multisig', getAddressCodec()],
    ['creator', getAddressCodec()],
    ['index', getU64Codec()],
    ['bump', getU8Codec()],
    ['actions', listCodec(configActionCodec)],
  ]),
  VaultBatchTransaction: getStructCodec([
    ['bump', getU8Codec()],
    ['ephemeralSignerBumps', listCodec(getU8Codec())],
    ['message', vaultMessageAccountCodec],
  ]),
};

/** The eight bytes that an account of this name begins with. */
export function accountDiscriminator(name: keyof Accounts): ReadonlyUint8Array {
  return anchorDiscriminator(`account:${name}`);
}

/** Anchor's tag of an account (`account:Name`) or an instruction (`global:name`). */
export function anchorDiscriminator(name: string): ReadonlyUint8Array {
  return createHash('sha256').update(name).digest().subarray(0, DISCRIMINATOR_BYTES);
}

/** How many bytes `encodeAccount` makes of this. */
export function encodedBytes<Name extends keyof Accounts>(name: Name, value: Accounts[Name]): number {
  return DISCRIMINATOR_BYTES + getEncodedSize(value, accountCodecs[name]);
}

/** The account's bytes: discriminator and fields, without the room that the account may have beyond them. */
export function encodeAccount<Name extends keyof Accounts>(name: Name, value: Accounts[Name]): Uint8Array {
  return Buffer.concat([Buffer.from(accountDiscriminator(name)), Buffer.from(accountCodecs[name].encode(value))]);
}
