import {
  batchTransactionAddress,
  getBatchAccountsCloseInstruction,
  getBatchAddTransactionInstruction,
  getBatchCreateInstruction,
  getBatchExecuteTransactionInstruction,
  getProposalActivateInstruction,
  getProposalApproveInstruction,
  getProposalCancelInstruction,
  getProposalCreateInstruction,
  getProposalRejectInstruction,
  getVaultBatchTransactionAccountCloseInstruction,
  proposalAddress,
  type SquadsInstruction,
  transactionAddress,
} from '@flywheel/squads';
import type { AccountMeta, Address, ReadonlyUint8Array } from '@solana/kit';
import type { Multisig } from '../model/project.ts';

// Squads' instructions as Flywheel sends them: the operator proposes, executes and pays; no memos.

/** A batch or rotation of a multisig and the accounts that every instruction about it names. */
export interface LocatedBatch {
  readonly multisig: Pick<Multisig, 'address' | 'vaultIndex' | 'operator' | 'rentCollector'>;
  readonly batchIndex: bigint;
  readonly address: Address;
  readonly proposal: Address;
}

/** Derives a batch's addresses once for all the builders below: a derivation takes about 0.2 ms. */
export function locateBatch(multisig: LocatedBatch['multisig'], batchIndex: bigint): LocatedBatch {
  return {
    multisig,
    batchIndex,
    address: transactionAddress(multisig.address, batchIndex),
    proposal: proposalAddress(multisig.address, batchIndex),
  };
}

/** Creates an empty batch at the multisig's next transaction index, which must be the batch's. */
export function batchCreate({ multisig, address }: LocatedBatch): SquadsInstruction {
  const { operator, vaultIndex } = multisig;
  return getBatchCreateInstruction({
    multisig: multisig.address,
    batch: address,
    creator: operator,
    rentPayer: operator,
    vaultIndex,
    memo: null,
  });
}

/**
 * Creates the proposal of a batch or rotation as a draft. It belongs in one transaction with the creation of its subject:
 * otherwise any member could create the proposal as active, and nothing could be added.
 */
export function proposalCreate({ multisig, batchIndex, proposal }: LocatedBatch): SquadsInstruction {
  return getProposalCreateInstruction({
    multisig: multisig.address,
    proposal,
    creator: multisig.operator,
    rentPayer: multisig.operator,
    transactionIndex: batchIndex,
    draft: true,
  });
}

/** Appends a vault message to a draft; `position` must be the batch's size so far. */
export function batchAddTransaction(
  { multisig, batchIndex, address, proposal }: LocatedBatch,
  position: number,
  vaultMessage: ReadonlyUint8Array,
): SquadsInstruction {
  return getBatchAddTransactionInstruction({
    multisig: multisig.address,
    proposal,
    batch: address,
    transaction: batchTransactionAddress(multisig.address, batchIndex, position),
    member: multisig.operator,
    rentPayer: multisig.operator,
    ephemeralSigners: 0,
    transactionMessage: vaultMessage,
  });
}

/** Closes the draft for additions and opens it for votes. */
export function proposalActivate({ multisig, proposal }: LocatedBatch): SquadsInstruction {
  return getProposalActivateInstruction({ multisig: multisig.address, member: multisig.operator, proposal });
}

/** `member` signs. */
export function proposalApprove(
  { multisig, proposal }: { readonly multisig: Pick<Multisig, 'address'>; readonly proposal: Address },
  member: Address,
): SquadsInstruction {
  return getProposalApproveInstruction({ multisig: multisig.address, member, proposal, memo: null });
}

/** Rejects an active proposal. One rejection ends it, as approval takes two of two votes. `member` signs. */
export function proposalReject({ multisig, proposal }: LocatedBatch, member: Address): SquadsInstruction {
  return getProposalRejectInstruction({ multisig: multisig.address, member, proposal, memo: null });
}

/** Votes to cancel an approved proposal, which takes as many votes as approving it. `member` signs. */
export function proposalCancel({ multisig, proposal }: LocatedBatch, member: Address): SquadsInstruction {
  return getProposalCancelInstruction({ multisig: multisig.address, member, proposal, memo: null });
}

/** Executes the vault message at `position`; `accounts` are those of `vaultMessageAccounts`. */
export function batchExecuteTransaction(
  { multisig, batchIndex, address, proposal }: LocatedBatch,
  position: number,
  accounts: readonly AccountMeta[],
): SquadsInstruction {
  const instruction = getBatchExecuteTransactionInstruction({
    multisig: multisig.address,
    member: multisig.operator,
    proposal,
    batch: address,
    transaction: batchTransactionAddress(multisig.address, batchIndex, position),
  });
  return { ...instruction, accounts: [...instruction.accounts, ...accounts] };
}

/** Closes the account of one vault message of an ended batch, last position first. */
export function vaultBatchTransactionAccountClose(
  { multisig, batchIndex, address, proposal }: LocatedBatch,
  position: number,
): SquadsInstruction {
  return getVaultBatchTransactionAccountCloseInstruction({
    multisig: multisig.address,
    proposal,
    batch: address,
    transaction: batchTransactionAddress(multisig.address, batchIndex, position),
    rentCollector: multisig.rentCollector,
  });
}

/** Closes an ended batch and its proposal, after the accounts of all its vault messages. */
export function batchAccountsClose({ multisig, address, proposal }: LocatedBatch): SquadsInstruction {
  return getBatchAccountsCloseInstruction({
    multisig: multisig.address,
    proposal,
    batch: address,
    rentCollector: multisig.rentCollector,
  });
}
