// Generated from the IDL of @sqds/multisig by `npm run generate`. Do not edit.

import {
  AccountRole,
  type Address,
  addDecoderSizePrefix,
  addEncoderSizePrefix,
  type Decoder,
  type Encoder,
  type FixedSizeDecoder,
  type FixedSizeEncoder,
  getBooleanDecoder,
  getBooleanEncoder,
  getBytesDecoder,
  getBytesEncoder,
  getNullableDecoder,
  getNullableEncoder,
  getStructDecoder,
  getStructEncoder,
  getU32Decoder,
  getU32Encoder,
  getU64Decoder,
  getU64Encoder,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { instruction, type SquadsInstruction } from '../program.ts';

export const PROPOSAL_CREATE_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  220, 60, 73, 224, 30, 108, 79, 159,
]);

export interface ProposalCreateArgs {
  /** Index of the multisig transaction this proposal is associated with. */
  readonly transactionIndex: bigint;
  /** Whether the proposal should be initialized with status `Draft`. */
  readonly draft: boolean;
}

export const proposalCreateArgsEncoder: FixedSizeEncoder<ProposalCreateArgs> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['transactionIndex', getU64Encoder()],
    ['draft', getBooleanEncoder()],
  ]))();

export const proposalCreateArgsDecoder: FixedSizeDecoder<ProposalCreateArgs> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['transactionIndex', getU64Decoder()],
    ['draft', getBooleanDecoder()],
  ]))();

export interface ProposalCreateInput extends ProposalCreateArgs {
  readonly multisig: Address;
  readonly proposal: Address;
  /** The member of the multisig that is creating the proposal. */
  readonly creator: Address;
  /** The payer for the proposal account rent. */
  readonly rentPayer: Address;
}

/** Create a new multisig proposal. */
export function getProposalCreateInstruction(input: ProposalCreateInput): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.READONLY },
    { address: input.proposal, role: AccountRole.WRITABLE },
    { address: input.creator, role: AccountRole.READONLY_SIGNER },
    { address: input.rentPayer, role: AccountRole.WRITABLE_SIGNER },
    { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY },
  ];
  return instruction(PROPOSAL_CREATE_DISCRIMINATOR, accounts, proposalCreateArgsEncoder.encode(input));
}

export const PROPOSAL_ACTIVATE_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  11, 34, 92, 248, 154, 27, 51, 106,
]);

export interface ProposalActivateInput {
  readonly multisig: Address;
  readonly member: Address;
  readonly proposal: Address;
}

/** Update status of a multisig proposal from `Draft` to `Active`. */
export function getProposalActivateInstruction(input: ProposalActivateInput): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.READONLY },
    { address: input.member, role: AccountRole.WRITABLE_SIGNER },
    { address: input.proposal, role: AccountRole.WRITABLE },
  ];
  return instruction(PROPOSAL_ACTIVATE_DISCRIMINATOR, accounts);
}

export const PROPOSAL_APPROVE_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  144, 37, 164, 136, 188, 216, 42, 248,
]);

export interface ProposalApproveArgs {
  readonly memo: ReadonlyUint8Array | null;
}

export const proposalApproveArgsEncoder: Encoder<ProposalApproveArgs> = /* @__PURE__ */ (() =>
  getStructEncoder([['memo', getNullableEncoder(addEncoderSizePrefix(getBytesEncoder(), getU32Encoder()))]]))();

export const proposalApproveArgsDecoder: Decoder<ProposalApproveArgs> = /* @__PURE__ */ (() =>
  getStructDecoder([['memo', getNullableDecoder(addDecoderSizePrefix(getBytesDecoder(), getU32Decoder()))]]))();

export interface ProposalApproveInput extends ProposalApproveArgs {
  readonly multisig: Address;
  readonly member: Address;
  readonly proposal: Address;
}

/**
 * Approve a multisig proposal on behalf of the `member`.
 * The proposal must be `Active`.
 */
export function getProposalApproveInstruction(input: ProposalApproveInput): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.READONLY },
    { address: input.member, role: AccountRole.WRITABLE_SIGNER },
    { address: input.proposal, role: AccountRole.WRITABLE },
  ];
  return instruction(PROPOSAL_APPROVE_DISCRIMINATOR, accounts, proposalApproveArgsEncoder.encode(input));
}

export const PROPOSAL_REJECT_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  243, 62, 134, 156, 230, 106, 246, 135,
]);

export interface ProposalRejectArgs {
  readonly memo: ReadonlyUint8Array | null;
}

export const proposalRejectArgsEncoder: Encoder<ProposalRejectArgs> = /* @__PURE__ */ (() =>
  getStructEncoder([['memo', getNullableEncoder(addEncoderSizePrefix(getBytesEncoder(), getU32Encoder()))]]))();

export interface ProposalRejectInput extends ProposalRejectArgs {
  readonly multisig: Address;
  readonly member: Address;
  readonly proposal: Address;
}

/**
 * Reject a multisig proposal on behalf of the `member`.
 * The proposal must be `Active`.
 */
export function getProposalRejectInstruction(input: ProposalRejectInput): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.READONLY },
    { address: input.member, role: AccountRole.WRITABLE_SIGNER },
    { address: input.proposal, role: AccountRole.WRITABLE },
  ];
  return instruction(PROPOSAL_REJECT_DISCRIMINATOR, accounts, proposalRejectArgsEncoder.encode(input));
}

export const PROPOSAL_CANCEL_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  27, 42, 127, 237, 38, 163, 84, 203,
]);

export interface ProposalCancelArgs {
  readonly memo: ReadonlyUint8Array | null;
}

export const proposalCancelArgsEncoder: Encoder<ProposalCancelArgs> = /* @__PURE__ */ (() =>
  getStructEncoder([['memo', getNullableEncoder(addEncoderSizePrefix(getBytesEncoder(), getU32Encoder()))]]))();

export interface ProposalCancelInput extends ProposalCancelArgs {
  readonly multisig: Address;
  readonly member: Address;
  readonly proposal: Address;
}

/**
 * Cancel a multisig proposal on behalf of the `member`.
 * The proposal must be `Approved`.
 */
export function getProposalCancelInstruction(input: ProposalCancelInput): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.READONLY },
    { address: input.member, role: AccountRole.WRITABLE_SIGNER },
    { address: input.proposal, role: AccountRole.WRITABLE },
  ];
  return instruction(PROPOSAL_CANCEL_DISCRIMINATOR, accounts, proposalCancelArgsEncoder.encode(input));
}

export const PROPOSAL_CANCEL_V2_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  205, 41, 194, 61, 220, 139, 16, 247,
]);

export interface ProposalCancelV2Args {
  readonly memo: ReadonlyUint8Array | null;
}

export const proposalCancelV2ArgsEncoder: Encoder<ProposalCancelV2Args> = /* @__PURE__ */ (() =>
  getStructEncoder([['memo', getNullableEncoder(addEncoderSizePrefix(getBytesEncoder(), getU32Encoder()))]]))();

export interface ProposalCancelV2Input extends ProposalCancelV2Args {
  readonly multisig: Address;
  readonly member: Address;
  readonly proposal: Address;
}

/**
 * Cancel a multisig proposal on behalf of the `member`.
 * The proposal must be `Approved`.
 * This was introduced to incorporate proper state update, as old multisig members
 * may have lingering votes, and the proposal size may need to be reallocated to
 * accommodate the new amount of cancel votes.
 * The previous implemenation still works if the proposal size is in line with the
 * threshold size.
 */
export function getProposalCancelV2Instruction(input: ProposalCancelV2Input): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.READONLY },
    { address: input.member, role: AccountRole.WRITABLE_SIGNER },
    { address: input.proposal, role: AccountRole.WRITABLE },
    { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY },
  ];
  return instruction(PROPOSAL_CANCEL_V2_DISCRIMINATOR, accounts, proposalCancelV2ArgsEncoder.encode(input));
}
