// Generated from the IDL of @sqds/multisig by `npm run generate`. Do not edit.

import { addressDecoder, addressEncoder } from '@flywheel/protocol';
import {
  AccountRole,
  type Address,
  addDecoderSizePrefix,
  addEncoderSizePrefix,
  type Decoder,
  type Encoder,
  getArrayDecoder,
  getArrayEncoder,
  getBytesDecoder,
  getBytesEncoder,
  getNullableDecoder,
  getNullableEncoder,
  getStructDecoder,
  getStructEncoder,
  getU16Decoder,
  getU16Encoder,
  getU32Decoder,
  getU32Encoder,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { instruction, optional, type SquadsInstruction } from '../program.ts';
import { type Member, memberDecoder, memberEncoder } from './types.ts';

export const MULTISIG_CREATE_V2_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  50, 221, 199, 93, 40, 245, 139, 233,
]);

export interface MultisigCreateV2Args {
  /**
   * The authority that can configure the multisig: add/remove members, change the threshold, etc.
   * Should be set to `None` for autonomous multisigs.
   */
  readonly configAuthority: Address | null;
  /** The number of signatures required to execute a transaction. */
  readonly threshold: number;
  /** The members of the multisig. */
  readonly members: Member[];
  /** How many seconds must pass between transaction voting, settlement, and execution. */
  readonly timeLock: number;
  /**
   * The address where the rent for the accounts related to executed, rejected, or cancelled
   * transactions can be reclaimed. If set to `None`, the rent reclamation feature is turned off.
   */
  readonly rentCollector: Address | null;
  /** Memo is used for indexing only. */
  readonly memo: ReadonlyUint8Array | null;
}

export const multisigCreateV2ArgsEncoder: Encoder<MultisigCreateV2Args> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['configAuthority', getNullableEncoder(addressEncoder)],
    ['threshold', getU16Encoder()],
    ['members', getArrayEncoder(memberEncoder)],
    ['timeLock', getU32Encoder()],
    ['rentCollector', getNullableEncoder(addressEncoder)],
    ['memo', getNullableEncoder(addEncoderSizePrefix(getBytesEncoder(), getU32Encoder()))],
  ]))();

export const multisigCreateV2ArgsDecoder: Decoder<MultisigCreateV2Args> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['configAuthority', getNullableDecoder(addressDecoder)],
    ['threshold', getU16Decoder()],
    ['members', getArrayDecoder(memberDecoder)],
    ['timeLock', getU32Decoder()],
    ['rentCollector', getNullableDecoder(addressDecoder)],
    ['memo', getNullableDecoder(addDecoderSizePrefix(getBytesDecoder(), getU32Decoder()))],
  ]))();

export interface MultisigCreateV2Input extends MultisigCreateV2Args {
  /** Global program config account. */
  readonly programConfig: Address;
  /** The treasury where the creation fee is transferred to. */
  readonly treasury: Address;
  readonly multisig: Address;
  /**
   * An ephemeral signer that is used as a seed for the Multisig PDA.
   * Must be a signer to prevent front-running attack by someone else but the original creator.
   */
  readonly createKey: Address;
  /** The creator of the multisig. */
  readonly creator: Address;
}

/** Create a multisig. */
export function getMultisigCreateV2Instruction(input: MultisigCreateV2Input): SquadsInstruction {
  const accounts = [
    { address: input.programConfig, role: AccountRole.READONLY },
    { address: input.treasury, role: AccountRole.WRITABLE },
    { address: input.multisig, role: AccountRole.WRITABLE },
    { address: input.createKey, role: AccountRole.READONLY_SIGNER },
    { address: input.creator, role: AccountRole.WRITABLE_SIGNER },
    { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY },
  ];
  return instruction(MULTISIG_CREATE_V2_DISCRIMINATOR, accounts, multisigCreateV2ArgsEncoder.encode(input));
}

export const MULTISIG_ADD_MEMBER_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  1, 219, 215, 108, 184, 229, 214, 8,
]);

export interface MultisigAddMemberArgs {
  readonly newMember: Member;
  /** Memo is used for indexing only. */
  readonly memo: ReadonlyUint8Array | null;
}

export const multisigAddMemberArgsEncoder: Encoder<MultisigAddMemberArgs> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['newMember', memberEncoder],
    ['memo', getNullableEncoder(addEncoderSizePrefix(getBytesEncoder(), getU32Encoder()))],
  ]))();

export const multisigAddMemberArgsDecoder: Decoder<MultisigAddMemberArgs> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['newMember', memberDecoder],
    ['memo', getNullableDecoder(addDecoderSizePrefix(getBytesDecoder(), getU32Decoder()))],
  ]))();

export interface MultisigAddMemberInput extends MultisigAddMemberArgs {
  readonly multisig: Address;
  /** Multisig `config_authority` that must authorize the configuration change. */
  readonly configAuthority: Address;
  /**
   * The account that will be charged or credited in case the multisig account needs to reallocate space,
   * for example when adding a new member or a spending limit.
   * This is usually the same as `config_authority`, but can be a different account if needed.
   */
  readonly rentPayer?: Address | null;
}

/** Add a new member to the controlled multisig. */
export function getMultisigAddMemberInstruction(input: MultisigAddMemberInput): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.WRITABLE },
    { address: input.configAuthority, role: AccountRole.READONLY_SIGNER },
    optional(input.rentPayer, AccountRole.WRITABLE_SIGNER),
    { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY },
  ];
  return instruction(MULTISIG_ADD_MEMBER_DISCRIMINATOR, accounts, multisigAddMemberArgsEncoder.encode(input));
}

export const MULTISIG_REMOVE_MEMBER_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  217, 117, 177, 210, 182, 145, 218, 72,
]);

export interface MultisigRemoveMemberArgs {
  readonly oldMember: Address;
  /** Memo is used for indexing only. */
  readonly memo: ReadonlyUint8Array | null;
}

export const multisigRemoveMemberArgsEncoder: Encoder<MultisigRemoveMemberArgs> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['oldMember', addressEncoder],
    ['memo', getNullableEncoder(addEncoderSizePrefix(getBytesEncoder(), getU32Encoder()))],
  ]))();

export const multisigRemoveMemberArgsDecoder: Decoder<MultisigRemoveMemberArgs> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['oldMember', addressDecoder],
    ['memo', getNullableDecoder(addDecoderSizePrefix(getBytesDecoder(), getU32Decoder()))],
  ]))();

export interface MultisigRemoveMemberInput extends MultisigRemoveMemberArgs {
  readonly multisig: Address;
  /** Multisig `config_authority` that must authorize the configuration change. */
  readonly configAuthority: Address;
  /**
   * The account that will be charged or credited in case the multisig account needs to reallocate space,
   * for example when adding a new member or a spending limit.
   * This is usually the same as `config_authority`, but can be a different account if needed.
   */
  readonly rentPayer?: Address | null;
}

/** Remove a member/key from the controlled multisig. */
export function getMultisigRemoveMemberInstruction(input: MultisigRemoveMemberInput): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.WRITABLE },
    { address: input.configAuthority, role: AccountRole.READONLY_SIGNER },
    optional(input.rentPayer, AccountRole.WRITABLE_SIGNER),
    { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY },
  ];
  return instruction(MULTISIG_REMOVE_MEMBER_DISCRIMINATOR, accounts, multisigRemoveMemberArgsEncoder.encode(input));
}

export const MULTISIG_CHANGE_THRESHOLD_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  141, 42, 15, 126, 169, 92, 62, 181,
]);

export interface MultisigChangeThresholdArgs {
  readonly newThreshold: number;
  /** Memo is used for indexing only. */
  readonly memo: ReadonlyUint8Array | null;
}

export const multisigChangeThresholdArgsEncoder: Encoder<MultisigChangeThresholdArgs> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['newThreshold', getU16Encoder()],
    ['memo', getNullableEncoder(addEncoderSizePrefix(getBytesEncoder(), getU32Encoder()))],
  ]))();

export const multisigChangeThresholdArgsDecoder: Decoder<MultisigChangeThresholdArgs> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['newThreshold', getU16Decoder()],
    ['memo', getNullableDecoder(addDecoderSizePrefix(getBytesDecoder(), getU32Decoder()))],
  ]))();

export interface MultisigChangeThresholdInput extends MultisigChangeThresholdArgs {
  readonly multisig: Address;
  /** Multisig `config_authority` that must authorize the configuration change. */
  readonly configAuthority: Address;
  /**
   * The account that will be charged or credited in case the multisig account needs to reallocate space,
   * for example when adding a new member or a spending limit.
   * This is usually the same as `config_authority`, but can be a different account if needed.
   */
  readonly rentPayer?: Address | null;
}

/** Set the `threshold` config parameter for the controlled multisig. */
export function getMultisigChangeThresholdInstruction(input: MultisigChangeThresholdInput): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.WRITABLE },
    { address: input.configAuthority, role: AccountRole.READONLY_SIGNER },
    optional(input.rentPayer, AccountRole.WRITABLE_SIGNER),
    { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY },
  ];
  return instruction(
    MULTISIG_CHANGE_THRESHOLD_DISCRIMINATOR,
    accounts,
    multisigChangeThresholdArgsEncoder.encode(input),
  );
}

export const MULTISIG_SET_TIME_LOCK_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  148, 154, 121, 77, 212, 254, 155, 72,
]);

export interface MultisigSetTimeLockArgs {
  readonly timeLock: number;
  /** Memo is used for indexing only. */
  readonly memo: ReadonlyUint8Array | null;
}

export const multisigSetTimeLockArgsEncoder: Encoder<MultisigSetTimeLockArgs> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['timeLock', getU32Encoder()],
    ['memo', getNullableEncoder(addEncoderSizePrefix(getBytesEncoder(), getU32Encoder()))],
  ]))();

export const multisigSetTimeLockArgsDecoder: Decoder<MultisigSetTimeLockArgs> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['timeLock', getU32Decoder()],
    ['memo', getNullableDecoder(addDecoderSizePrefix(getBytesDecoder(), getU32Decoder()))],
  ]))();

export interface MultisigSetTimeLockInput extends MultisigSetTimeLockArgs {
  readonly multisig: Address;
  /** Multisig `config_authority` that must authorize the configuration change. */
  readonly configAuthority: Address;
  /**
   * The account that will be charged or credited in case the multisig account needs to reallocate space,
   * for example when adding a new member or a spending limit.
   * This is usually the same as `config_authority`, but can be a different account if needed.
   */
  readonly rentPayer?: Address | null;
}

/** Set the `time_lock` config parameter for the controlled multisig. */
export function getMultisigSetTimeLockInstruction(input: MultisigSetTimeLockInput): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.WRITABLE },
    { address: input.configAuthority, role: AccountRole.READONLY_SIGNER },
    optional(input.rentPayer, AccountRole.WRITABLE_SIGNER),
    { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY },
  ];
  return instruction(MULTISIG_SET_TIME_LOCK_DISCRIMINATOR, accounts, multisigSetTimeLockArgsEncoder.encode(input));
}
