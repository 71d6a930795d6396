import { createHash } from 'node:crypto';
import {
  type ConfigAction,
  getBatchAccountsCloseInstruction,
  getBatchAddTransactionInstruction,
  getBatchCreateInstruction,
  getBatchExecuteTransactionInstruction,
  getConfigTransactionAccountsCloseInstruction,
  getConfigTransactionCreateInstruction,
  getConfigTransactionExecuteInstruction,
  getMultisigAddMemberInstruction,
  getMultisigChangeThresholdInstruction,
  getMultisigCreateV2Instruction,
  getMultisigRemoveMemberInstruction,
  getMultisigSetTimeLockInstruction,
  getProposalActivateInstruction,
  getProposalApproveInstruction,
  getProposalCancelInstruction,
  getProposalCancelV2Instruction,
  getProposalCreateInstruction,
  getProposalRejectInstruction,
  getVaultBatchTransactionAccountCloseInstruction,
  type Member,
  type MultisigCreateV2Args,
  SQUADS_PROGRAM_ADDRESS,
} from '@flywheel/squads';
import type { AccountMeta, Address, Instruction, ReadonlyUint8Array } from '@solana/kit';
import {
  multisigAddress,
  numberedTransactionAddress,
  programConfigAddress,
  proposalAddress,
  transactionAddress,
} from '../../src/squads-emulation/program/addresses.ts';

// Instructions of Squads for a batch, named by its index, without memos.

export interface MultisigInput extends Partial<MultisigCreateV2Args> {
  readonly createKey: Address;
  readonly creator: Address;
  readonly treasury: Address;
  readonly members: Member[];
  readonly threshold: number;
}

export function multisigCreateV2(input: MultisigInput): Instruction {
  return getMultisigCreateV2Instruction({
    configAuthority: null,
    timeLock: 0,
    rentCollector: null,
    memo: null,
    ...input,
    programConfig: programConfigAddress().address,
    multisig: multisigAddress(input.createKey).address,
  });
}

export interface ConfigInput {
  readonly multisig: Address;
  readonly configAuthority: Address;
  readonly rentPayer?: Address;
}

export function multisigAddMember(input: ConfigInput, newMember: Member): Instruction {
  return getMultisigAddMemberInstruction({ ...input, newMember, memo: null });
}

export function multisigRemoveMember(input: ConfigInput, oldMember: Address): Instruction {
  return getMultisigRemoveMemberInstruction({ ...input, oldMember, memo: null });
}

export function multisigChangeThreshold(input: ConfigInput, newThreshold: number): Instruction {
  return getMultisigChangeThresholdInstruction({ ...input, newThreshold, memo: null });
}

export function multisigSetTimeLock(input: ConfigInput, timeLock: number): Instruction {
  return getMultisigSetTimeLockInstruction({ ...input, timeLock, memo: null });
}

/** Names a batch or config transaction of a multisig by its index. */
export interface BatchKey {
  readonly multisig: Address;
  readonly index: bigint;
}

export function batchCreate(
  key: BatchKey,
  creator: Address,
  { rentPayer = creator, vaultIndex = 0 } = {},
): Instruction {
  const { multisig } = key;
  return getBatchCreateInstruction({ multisig, batch: batchOf(key), creator, rentPayer, vaultIndex, memo: null });
}

export function proposalCreate(
  key: BatchKey,
  creator: Address,
  { rentPayer = creator, draft = true } = {},
): Instruction {
  const { multisig, index: transactionIndex } = key;
  return getProposalCreateInstruction({
    multisig,
    proposal: proposalOf(key),
    creator,
    rentPayer,
    transactionIndex,
    draft,
  });
}

export interface AddInput {
  /** Counts from 1. */
  readonly position: number;
  readonly member: Address;
  readonly message: ReadonlyUint8Array;
  readonly rentPayer?: Address;
  readonly ephemeralSignerCount?: number;
}

export function batchAddTransaction(key: BatchKey, input: AddInput): Instruction {
  return getBatchAddTransactionInstruction({
    multisig: key.multisig,
    proposal: proposalOf(key),
    batch: batchOf(key),
    transaction: transactionOf(key, input.position),
    member: input.member,
    rentPayer: input.rentPayer ?? input.member,
    ephemeralSigners: input.ephemeralSignerCount ?? 0,
    transactionMessage: input.message,
  });
}

export function proposalActivate(key: BatchKey, member: Address): Instruction {
  return getProposalActivateInstruction({ multisig: key.multisig, member, proposal: proposalOf(key) });
}

const VOTES = {
  approve: getProposalApproveInstruction,
  reject: getProposalRejectInstruction,
  cancel: getProposalCancelInstruction,
  cancel_v2: getProposalCancelV2Instruction,
};

export function proposalVote(vote: keyof typeof VOTES, key: BatchKey, member: Address): Instruction {
  return VOTES[vote]({ multisig: key.multisig, member, proposal: proposalOf(key), memo: null });
}

export interface ExecuteInput {
  /** Counts from 1. */
  readonly position: number;
  readonly member: Address;
  /** Accounts of the vault message (`vaultMessageAccounts`). */
  readonly remaining: readonly AccountMeta[];
}

export function batchExecuteTransaction(key: BatchKey, { position, member, remaining }: ExecuteInput): Instruction {
  const instruction = getBatchExecuteTransactionInstruction({
    multisig: key.multisig,
    member,
    proposal: proposalOf(key),
    batch: batchOf(key),
    transaction: transactionOf(key, position),
  });
  return { ...instruction, accounts: [...instruction.accounts, ...remaining] };
}

export function vaultBatchTransactionAccountClose(
  key: BatchKey,
  position: number,
  rentCollector: Address,
): Instruction {
  return getVaultBatchTransactionAccountCloseInstruction({
    multisig: key.multisig,
    proposal: proposalOf(key),
    batch: batchOf(key),
    transaction: transactionOf(key, position),
    rentCollector,
  });
}

export function batchAccountsClose(key: BatchKey, rentCollector: Address): Instruction {
  const { multisig } = key;
  return getBatchAccountsCloseInstruction({ multisig, proposal: proposalOf(key), batch: batchOf(key), rentCollector });
}

export interface ConfigTransactionInput {
  readonly creator: Address;
  readonly rentPayer?: Address;
  readonly actions: ConfigAction[];
}

export function configTransactionCreate(
  key: BatchKey,
  { creator, rentPayer = creator, actions }: ConfigTransactionInput,
): Instruction {
  const { multisig } = key;
  const transaction = batchOf(key);
  return getConfigTransactionCreateInstruction({ multisig, transaction, creator, rentPayer, actions, memo: null });
}

export function configTransactionExecute(
  key: BatchKey,
  member: Address,
  rentPayer: Address | null = null,
): Instruction {
  return getConfigTransactionExecuteInstruction({
    multisig: key.multisig,
    member,
    proposal: proposalOf(key),
    transaction: batchOf(key),
    rentPayer,
  });
}

export function configTransactionAccountsClose(key: BatchKey, rentCollector: Address): Instruction {
  const { multisig } = key;
  return getConfigTransactionAccountsCloseInstruction({
    multisig,
    proposal: proposalOf(key),
    transaction: batchOf(key),
    rentCollector,
  });
}

export function batchOf({ multisig, index }: BatchKey): Address {
  return transactionAddress(multisig, index).address;
}

export function proposalOf({ multisig, index }: BatchKey): Address {
  return proposalAddress(multisig, index).address;
}

export function transactionOf({ multisig, index }: BatchKey, position: number): Address {
  return numberedTransactionAddress(multisig, index, position).address;
}

/** Builds any instruction of the program by its name in snake case, without accounts and arguments. */
export function instructionNamed(name: string): Instruction {
  const discriminator = createHash('sha256').update(`global:${name}`).digest().subarray(0, 8);
  return { programAddress: SQUADS_PROGRAM_ADDRESS, accounts: [], data: new Uint8Array(discriminator) };
}
