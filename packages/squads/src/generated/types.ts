// Generated from the IDL of @sqds/multisig by `npm run generate`. Do not edit.

import { addressDecoder, addressEncoder } from '@flywheel/protocol';
import {
  type Address,
  addDecoderSizePrefix,
  addEncoderSizePrefix,
  type Decoder,
  type Encoder,
  type FixedSizeDecoder,
  type FixedSizeEncoder,
  getArrayDecoder,
  getArrayEncoder,
  getBytesDecoder,
  getBytesEncoder,
  getDiscriminatedUnionDecoder,
  getDiscriminatedUnionEncoder,
  getI64Decoder,
  getI64Encoder,
  getNullableDecoder,
  getNullableEncoder,
  getStructDecoder,
  getStructEncoder,
  getU8Decoder,
  getU8Encoder,
  getU16Decoder,
  getU16Encoder,
  getU32Decoder,
  getU32Encoder,
  getU64Decoder,
  getU64Encoder,
  getUnitDecoder,
  getUnitEncoder,
  type ReadonlyUint8Array,
} from '@solana/kit';

/** Bitmask for permissions. */
export interface Permissions {
  readonly mask: number;
}

export const permissionsEncoder: FixedSizeEncoder<Permissions> = /* @__PURE__ */ (() =>
  getStructEncoder([['mask', getU8Encoder()]]))();

export const permissionsDecoder: FixedSizeDecoder<Permissions> = /* @__PURE__ */ (() =>
  getStructDecoder([['mask', getU8Decoder()]]))();

export interface Member {
  readonly key: Address;
  readonly permissions: Permissions;
}

export const memberEncoder: FixedSizeEncoder<Member> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['key', addressEncoder],
    ['permissions', permissionsEncoder],
  ]))();

export const memberDecoder: FixedSizeDecoder<Member> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['key', addressDecoder],
    ['permissions', permissionsDecoder],
  ]))();

/**
 * The status of a proposal.
 * Each variant wraps a timestamp of when the status was set.
 */
export type ProposalStatus =
  | { readonly __kind: 'Draft'; readonly timestamp: bigint }
  | { readonly __kind: 'Active'; readonly timestamp: bigint }
  | { readonly __kind: 'Rejected'; readonly timestamp: bigint }
  | { readonly __kind: 'Approved'; readonly timestamp: bigint }
  | { readonly __kind: 'Executing' }
  | { readonly __kind: 'Executed'; readonly timestamp: bigint }
  | { readonly __kind: 'Cancelled'; readonly timestamp: bigint };

export const proposalStatusEncoder: Encoder<ProposalStatus> = /* @__PURE__ */ (() =>
  getDiscriminatedUnionEncoder([
    ['Draft', getStructEncoder([['timestamp', getI64Encoder()]])],
    ['Active', getStructEncoder([['timestamp', getI64Encoder()]])],
    ['Rejected', getStructEncoder([['timestamp', getI64Encoder()]])],
    ['Approved', getStructEncoder([['timestamp', getI64Encoder()]])],
    ['Executing', getUnitEncoder()],
    ['Executed', getStructEncoder([['timestamp', getI64Encoder()]])],
    ['Cancelled', getStructEncoder([['timestamp', getI64Encoder()]])],
  ]))();

export const proposalStatusDecoder: Decoder<ProposalStatus> = /* @__PURE__ */ (() =>
  getDiscriminatedUnionDecoder([
    ['Draft', getStructDecoder([['timestamp', getI64Decoder()]])],
    ['Active', getStructDecoder([['timestamp', getI64Decoder()]])],
    ['Rejected', getStructDecoder([['timestamp', getI64Decoder()]])],
    ['Approved', getStructDecoder([['timestamp', getI64Decoder()]])],
    ['Executing', getUnitDecoder()],
    ['Executed', getStructDecoder([['timestamp', getI64Decoder()]])],
    ['Cancelled', getStructDecoder([['timestamp', getI64Decoder()]])],
  ]))();

/**
 * Concise serialization schema for instructions that make up a transaction.
 * Closely mimics the Solana transaction wire format.
 */
export interface MultisigCompiledInstruction {
  readonly programIdIndex: number;
  /** Indices into the tx's `account_keys` list indicating which accounts to pass to the instruction. */
  readonly accountIndexes: ReadonlyUint8Array;
  /** Instruction data. */
  readonly data: ReadonlyUint8Array;
}

export const multisigCompiledInstructionEncoder: Encoder<MultisigCompiledInstruction> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['programIdIndex', getU8Encoder()],
    ['accountIndexes', addEncoderSizePrefix(getBytesEncoder(), getU32Encoder())],
    ['data', addEncoderSizePrefix(getBytesEncoder(), getU32Encoder())],
  ]))();

export const multisigCompiledInstructionDecoder: Decoder<MultisigCompiledInstruction> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['programIdIndex', getU8Decoder()],
    ['accountIndexes', addDecoderSizePrefix(getBytesDecoder(), getU32Decoder())],
    ['data', addDecoderSizePrefix(getBytesDecoder(), getU32Decoder())],
  ]))();

/**
 * Address table lookups describe an on-chain address lookup table to use
 * for loading more readonly and writable accounts into a transaction.
 */
export interface MultisigMessageAddressTableLookup {
  /** Address lookup table account key. */
  readonly accountKey: Address;
  /** List of indexes used to load writable accounts. */
  readonly writableIndexes: ReadonlyUint8Array;
  /** List of indexes used to load readonly accounts. */
  readonly readonlyIndexes: ReadonlyUint8Array;
}

export const multisigMessageAddressTableLookupEncoder: Encoder<MultisigMessageAddressTableLookup> =
  /* @__PURE__ */ (() =>
    getStructEncoder([
      ['accountKey', addressEncoder],
      ['writableIndexes', addEncoderSizePrefix(getBytesEncoder(), getU32Encoder())],
      ['readonlyIndexes', addEncoderSizePrefix(getBytesEncoder(), getU32Encoder())],
    ]))();

export const multisigMessageAddressTableLookupDecoder: Decoder<MultisigMessageAddressTableLookup> =
  /* @__PURE__ */ (() =>
    getStructDecoder([
      ['accountKey', addressDecoder],
      ['writableIndexes', addDecoderSizePrefix(getBytesDecoder(), getU32Decoder())],
      ['readonlyIndexes', addDecoderSizePrefix(getBytesDecoder(), getU32Decoder())],
    ]))();

export interface VaultTransactionMessage {
  /** The number of signer pubkeys in the account_keys vec. */
  readonly numSigners: number;
  /** The number of writable signer pubkeys in the account_keys vec. */
  readonly numWritableSigners: number;
  /** The number of writable non-signer pubkeys in the account_keys vec. */
  readonly numWritableNonSigners: number;
  /**
   * Unique account pubkeys (including program IDs) required for execution of the tx.
   * The signer pubkeys appear at the beginning of the vec, with writable pubkeys first, and read-only pubkeys following.
   * The non-signer pubkeys follow with writable pubkeys first and read-only ones following.
   * Program IDs are also stored at the end of the vec along with other non-signer non-writable pubkeys:
   *
   * ```plaintext
   * [pubkey1, pubkey2, pubkey3, pubkey4, pubkey5, pubkey6, pubkey7, pubkey8]
   * |---writable---|  |---readonly---|  |---writable---|  |---readonly---|
   * |------------signers-------------|  |----------non-singers-----------|
   * ```
   */
  readonly accountKeys: Address[];
  /** List of instructions making up the tx. */
  readonly instructions: MultisigCompiledInstruction[];
  /**
   * List of address table lookups used to load additional accounts
   * for this transaction.
   */
  readonly addressTableLookups: MultisigMessageAddressTableLookup[];
}

export const vaultTransactionMessageEncoder: Encoder<VaultTransactionMessage> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['numSigners', getU8Encoder()],
    ['numWritableSigners', getU8Encoder()],
    ['numWritableNonSigners', getU8Encoder()],
    ['accountKeys', getArrayEncoder(addressEncoder)],
    ['instructions', getArrayEncoder(multisigCompiledInstructionEncoder)],
    ['addressTableLookups', getArrayEncoder(multisigMessageAddressTableLookupEncoder)],
  ]))();

export const vaultTransactionMessageDecoder: Decoder<VaultTransactionMessage> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['numSigners', getU8Decoder()],
    ['numWritableSigners', getU8Decoder()],
    ['numWritableNonSigners', getU8Decoder()],
    ['accountKeys', getArrayDecoder(addressDecoder)],
    ['instructions', getArrayDecoder(multisigCompiledInstructionDecoder)],
    ['addressTableLookups', getArrayDecoder(multisigMessageAddressTableLookupDecoder)],
  ]))();

/** The reset period of the spending limit. */
export type Period =
  | { readonly __kind: 'OneTime' }
  | { readonly __kind: 'Day' }
  | { readonly __kind: 'Week' }
  | { readonly __kind: 'Month' };

export const periodEncoder: Encoder<Period> = /* @__PURE__ */ (() =>
  getDiscriminatedUnionEncoder([
    ['OneTime', getUnitEncoder()],
    ['Day', getUnitEncoder()],
    ['Week', getUnitEncoder()],
    ['Month', getUnitEncoder()],
  ]))();

export const periodDecoder: Decoder<Period> = /* @__PURE__ */ (() =>
  getDiscriminatedUnionDecoder([
    ['OneTime', getUnitDecoder()],
    ['Day', getUnitDecoder()],
    ['Week', getUnitDecoder()],
    ['Month', getUnitDecoder()],
  ]))();

export type ConfigAction =
  | { readonly __kind: 'AddMember'; readonly newMember: Member }
  | { readonly __kind: 'RemoveMember'; readonly oldMember: Address }
  | { readonly __kind: 'ChangeThreshold'; readonly newThreshold: number }
  | { readonly __kind: 'SetTimeLock'; readonly newTimeLock: number }
  | {
      readonly __kind: 'AddSpendingLimit';
      readonly createKey: Address;
      readonly vaultIndex: number;
      readonly mint: Address;
      readonly amount: bigint;
      readonly period: Period;
      readonly members: Address[];
      readonly destinations: Address[];
    }
  | { readonly __kind: 'RemoveSpendingLimit'; readonly spendingLimit: Address }
  | { readonly __kind: 'SetRentCollector'; readonly newRentCollector: Address | null };

export const configActionEncoder: Encoder<ConfigAction> = /* @__PURE__ */ (() =>
  getDiscriminatedUnionEncoder([
    ['AddMember', getStructEncoder([['newMember', memberEncoder]])],
    ['RemoveMember', getStructEncoder([['oldMember', addressEncoder]])],
    ['ChangeThreshold', getStructEncoder([['newThreshold', getU16Encoder()]])],
    ['SetTimeLock', getStructEncoder([['newTimeLock', getU32Encoder()]])],
    [
      'AddSpendingLimit',
      getStructEncoder([
        ['createKey', addressEncoder],
        ['vaultIndex', getU8Encoder()],
        ['mint', addressEncoder],
        ['amount', getU64Encoder()],
        ['period', periodEncoder],
        ['members', getArrayEncoder(addressEncoder)],
        ['destinations', getArrayEncoder(addressEncoder)],
      ]),
    ],
    ['RemoveSpendingLimit', getStructEncoder([['spendingLimit', addressEncoder]])],
    ['SetRentCollector', getStructEncoder([['newRentCollector', getNullableEncoder(addressEncoder)]])],
  ]))();

export const configActionDecoder: Decoder<ConfigAction> = /* @__PURE__ */ (() =>
  getDiscriminatedUnionDecoder([
    ['AddMember', getStructDecoder([['newMember', memberDecoder]])],
    ['RemoveMember', getStructDecoder([['oldMember', addressDecoder]])],
    ['ChangeThreshold', getStructDecoder([['newThreshold', getU16Decoder()]])],
    ['SetTimeLock', getStructDecoder([['newTimeLock', getU32Decoder()]])],
    [
      'AddSpendingLimit',
      getStructDecoder([
        ['createKey', addressDecoder],
        ['vaultIndex', getU8Decoder()],
        ['mint', addressDecoder],
        ['amount', getU64Decoder()],
        ['period', periodDecoder],
        ['members', getArrayDecoder(addressDecoder)],
        ['destinations', getArrayDecoder(addressDecoder)],
      ]),
    ],
    ['RemoveSpendingLimit', getStructDecoder([['spendingLimit', addressDecoder]])],
    ['SetRentCollector', getStructDecoder([['newRentCollector', getNullableDecoder(addressDecoder)]])],
  ]))();
