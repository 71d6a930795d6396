// Generated from the IDL of @sqds/multisig by `npm run generate`. Do not edit.

import {
  AccountRole,
  type Address,
  addDecoderSizePrefix,
  addEncoderSizePrefix,
  type Decoder,
  type Encoder,
  getBytesDecoder,
  getBytesEncoder,
  getNullableDecoder,
  getNullableEncoder,
  getStructDecoder,
  getStructEncoder,
  getU8Decoder,
  getU8Encoder,
  getU32Decoder,
  getU32Encoder,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { instruction, type SquadsInstruction } from '../program.ts';

export const BATCH_CREATE_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  194, 142, 141, 17, 55, 185, 20, 248,
]);

export interface BatchCreateArgs {
  /** Index of the vault this transaction belongs to. */
  readonly vaultIndex: number;
  readonly memo: ReadonlyUint8Array | null;
}

export const batchCreateArgsEncoder: Encoder<BatchCreateArgs> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['vaultIndex', getU8Encoder()],
    ['memo', getNullableEncoder(addEncoderSizePrefix(getBytesEncoder(), getU32Encoder()))],
  ]))();

export const batchCreateArgsDecoder: Decoder<BatchCreateArgs> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['vaultIndex', getU8Decoder()],
    ['memo', getNullableDecoder(addDecoderSizePrefix(getBytesDecoder(), getU32Decoder()))],
  ]))();

export interface BatchCreateInput extends BatchCreateArgs {
  readonly multisig: Address;
  readonly batch: Address;
  /** The member of the multisig that is creating the batch. */
  readonly creator: Address;
  /** The payer for the batch account rent. */
  readonly rentPayer: Address;
}

/** Create a new batch. */
export function getBatchCreateInstruction(input: BatchCreateInput): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.WRITABLE },
    { address: input.batch, role: AccountRole.WRITABLE },
    { address: input.creator, role: AccountRole.READONLY_SIGNER },
    { address: input.rentPayer, role: AccountRole.WRITABLE_SIGNER },
    { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY },
  ];
  return instruction(BATCH_CREATE_DISCRIMINATOR, accounts, batchCreateArgsEncoder.encode(input));
}

export const BATCH_ADD_TRANSACTION_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  89, 100, 224, 18, 69, 70, 54, 76,
]);

export interface BatchAddTransactionArgs {
  /** Number of ephemeral signing PDAs required by the transaction. */
  readonly ephemeralSigners: number;
  readonly transactionMessage: ReadonlyUint8Array;
}

export const batchAddTransactionArgsEncoder: Encoder<BatchAddTransactionArgs> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['ephemeralSigners', getU8Encoder()],
    ['transactionMessage', addEncoderSizePrefix(getBytesEncoder(), getU32Encoder())],
  ]))();

export const batchAddTransactionArgsDecoder: Decoder<BatchAddTransactionArgs> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['ephemeralSigners', getU8Decoder()],
    ['transactionMessage', addDecoderSizePrefix(getBytesDecoder(), getU32Decoder())],
  ]))();

export interface BatchAddTransactionInput extends BatchAddTransactionArgs {
  /** Multisig account this batch belongs to. */
  readonly multisig: Address;
  /** The proposal account associated with the batch. */
  readonly proposal: Address;
  readonly batch: Address;
  /** `VaultBatchTransaction` account to initialize and add to the `batch`. */
  readonly transaction: Address;
  /** Member of the multisig. */
  readonly member: Address;
  /** The payer for the batch transaction account rent. */
  readonly rentPayer: Address;
}

/** Add a transaction to the batch. */
export function getBatchAddTransactionInstruction(input: BatchAddTransactionInput): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.READONLY },
    { address: input.proposal, role: AccountRole.READONLY },
    { address: input.batch, role: AccountRole.WRITABLE },
    { address: input.transaction, role: AccountRole.WRITABLE },
    { address: input.member, role: AccountRole.READONLY_SIGNER },
    { address: input.rentPayer, role: AccountRole.WRITABLE_SIGNER },
    { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY },
  ];
  return instruction(BATCH_ADD_TRANSACTION_DISCRIMINATOR, accounts, batchAddTransactionArgsEncoder.encode(input));
}

export const BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  172, 44, 179, 152, 21, 127, 234, 180,
]);

export interface BatchExecuteTransactionInput {
  /** Multisig account this batch belongs to. */
  readonly multisig: Address;
  /** Member of the multisig. */
  readonly member: Address;
  /**
   * The proposal account associated with the batch.
   * If `transaction` is the last in the batch, the `proposal` status will be set to `Executed`.
   */
  readonly proposal: Address;
  readonly batch: Address;
  /** Batch transaction to execute. */
  readonly transaction: Address;
}

/** Execute a transaction from the batch. */
export function getBatchExecuteTransactionInstruction(input: BatchExecuteTransactionInput): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.READONLY },
    { address: input.member, role: AccountRole.READONLY_SIGNER },
    { address: input.proposal, role: AccountRole.WRITABLE },
    { address: input.batch, role: AccountRole.WRITABLE },
    { address: input.transaction, role: AccountRole.READONLY },
  ];
  return instruction(BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR, accounts);
}

export const BATCH_ACCOUNTS_CLOSE_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  218, 196, 7, 175, 130, 102, 11, 255,
]);

export interface BatchAccountsCloseInput {
  readonly multisig: Address;
  /** the logic within `batch_accounts_close` does the rest of the checks. */
  readonly proposal: Address;
  /** `Batch` corresponding to the `proposal`. */
  readonly batch: Address;
  /** The rent collector. */
  readonly rentCollector: Address;
}

/**
 * Closes Batch and the corresponding Proposal accounts for proposals in terminal states:
 * `Executed`, `Rejected`, or `Cancelled` or stale proposals that aren't `Approved`.
 *
 * This instruction is only allowed to be executed when all `VaultBatchTransaction` accounts
 * in the `batch` are already closed: `batch.size == 0`.
 */
export function getBatchAccountsCloseInstruction(input: BatchAccountsCloseInput): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.READONLY },
    { address: input.proposal, role: AccountRole.WRITABLE },
    { address: input.batch, role: AccountRole.WRITABLE },
    { address: input.rentCollector, role: AccountRole.WRITABLE },
    { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY },
  ];
  return instruction(BATCH_ACCOUNTS_CLOSE_DISCRIMINATOR, accounts);
}

export const VAULT_BATCH_TRANSACTION_ACCOUNT_CLOSE_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  134, 18, 19, 106, 129, 68, 97, 247,
]);

export interface VaultBatchTransactionAccountCloseInput {
  readonly multisig: Address;
  readonly proposal: Address;
  /** `Batch` corresponding to the `proposal`. */
  readonly batch: Address;
  /**
   * `VaultBatchTransaction` account to close.
   * The transaction must be the current last one in the batch.
   */
  readonly transaction: Address;
  /** The rent collector. */
  readonly rentCollector: Address;
}

/**
 * Closes a `VaultBatchTransaction` belonging to the `batch` and `proposal`.
 * `transaction` can be closed if either:
 * - it's marked as executed within the `batch`;
 * - the `proposal` is in a terminal state: `Executed`, `Rejected`, or `Cancelled`.
 * - the `proposal` is stale and not `Approved`.
 */
export function getVaultBatchTransactionAccountCloseInstruction(
  input: VaultBatchTransactionAccountCloseInput,
): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.READONLY },
    { address: input.proposal, role: AccountRole.READONLY },
    { address: input.batch, role: AccountRole.WRITABLE },
    { address: input.transaction, role: AccountRole.WRITABLE },
    { address: input.rentCollector, role: AccountRole.WRITABLE },
    { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY },
  ];
  return instruction(VAULT_BATCH_TRANSACTION_ACCOUNT_CLOSE_DISCRIMINATOR, accounts);
}
