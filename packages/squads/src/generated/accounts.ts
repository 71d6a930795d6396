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
  fixDecoderSize,
  fixEncoderSize,
  getArrayDecoder,
  getArrayEncoder,
  getBytesDecoder,
  getBytesEncoder,
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
  type ReadonlyUint8Array,
} from '@solana/kit';
import {
  type ConfigAction,
  configActionDecoder,
  configActionEncoder,
  type Member,
  memberDecoder,
  memberEncoder,
  type ProposalStatus,
  proposalStatusDecoder,
  proposalStatusEncoder,
  type VaultTransactionMessage,
  vaultTransactionMessageDecoder,
  vaultTransactionMessageEncoder,
} from './types.ts';

export const PROGRAM_CONFIG_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  196, 210, 90, 231, 144, 149, 140, 63,
]);

/** Global program configuration account. */
export interface ProgramConfigAccount {
  /** The authority which can update the config. */
  readonly authority: Address;
  /**
   * The lamports amount charged for creating a new multisig account.
   * This fee is sent to the `treasury` account.
   */
  readonly multisigCreationFee: bigint;
  /** The treasury account to send charged fees to. */
  readonly treasury: Address;
  /** Reserved for future use. */
  readonly reserved: ReadonlyUint8Array;
}

export const programConfigEncoder: FixedSizeEncoder<ProgramConfigAccount> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['authority', addressEncoder],
    ['multisigCreationFee', getU64Encoder()],
    ['treasury', addressEncoder],
    ['reserved', fixEncoderSize(getBytesEncoder(), 64)],
  ]))();

export const programConfigDecoder: FixedSizeDecoder<ProgramConfigAccount> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['authority', addressDecoder],
    ['multisigCreationFee', getU64Decoder()],
    ['treasury', addressDecoder],
    ['reserved', fixDecoderSize(getBytesDecoder(), 64)],
  ]))();

export const MULTISIG_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  224, 116, 121, 186, 68, 161, 79, 236,
]);

export interface MultisigAccount {
  /** Key that is used to seed the multisig PDA. */
  readonly createKey: Address;
  /**
   * The authority that can change the multisig config.
   * This is a very important parameter as this authority can change the members and threshold.
   *
   * The convention is to set this to `Pubkey::default()`.
   * In this case, the multisig becomes autonomous, so every config change goes through
   * the normal process of voting by the members.
   *
   * However, if this parameter is set to any other key, all the config changes for this multisig
   * will need to be signed by the `config_authority`. We call such a multisig a "controlled multisig".
   */
  readonly configAuthority: Address;
  /** Threshold for signatures. */
  readonly threshold: number;
  /** How many seconds must pass between transaction voting settlement and execution. */
  readonly timeLock: number;
  /** Last transaction index. 0 means no transactions have been created. */
  readonly transactionIndex: bigint;
  /**
   * Last stale transaction index. All transactions up until this index are stale.
   * This index is updated when multisig config (members/threshold/time_lock) changes.
   */
  readonly staleTransactionIndex: bigint;
  /**
   * The address where the rent for the accounts related to executed, rejected, or cancelled
   * transactions can be reclaimed. If set to `None`, the rent reclamation feature is turned off.
   */
  readonly rentCollector: Address | null;
  /** Bump for the multisig PDA seed. */
  readonly bump: number;
  /** Members of the multisig. */
  readonly members: Member[];
}

export const multisigEncoder: Encoder<MultisigAccount> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['createKey', addressEncoder],
    ['configAuthority', addressEncoder],
    ['threshold', getU16Encoder()],
    ['timeLock', getU32Encoder()],
    ['transactionIndex', getU64Encoder()],
    ['staleTransactionIndex', getU64Encoder()],
    ['rentCollector', getNullableEncoder(addressEncoder)],
    ['bump', getU8Encoder()],
    ['members', getArrayEncoder(memberEncoder)],
  ]))();

export const multisigDecoder: Decoder<MultisigAccount> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['createKey', addressDecoder],
    ['configAuthority', addressDecoder],
    ['threshold', getU16Decoder()],
    ['timeLock', getU32Decoder()],
    ['transactionIndex', getU64Decoder()],
    ['staleTransactionIndex', getU64Decoder()],
    ['rentCollector', getNullableDecoder(addressDecoder)],
    ['bump', getU8Decoder()],
    ['members', getArrayDecoder(memberDecoder)],
  ]))();

export const PROPOSAL_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  26, 94, 189, 187, 116, 136, 53, 33,
]);

/**
 * Stores the data required for tracking the status of a multisig proposal.
 * Each `Proposal` has a 1:1 association with a transaction account, e.g. a `VaultTransaction` or a `ConfigTransaction`;
 * the latter can be executed only after the `Proposal` has been approved and its time lock is released.
 */
export interface ProposalAccount {
  /** The multisig this belongs to. */
  readonly multisig: Address;
  /** Index of the multisig transaction this proposal is associated with. */
  readonly transactionIndex: bigint;
  /** The status of the transaction. */
  readonly status: ProposalStatus;
  /** PDA bump. */
  readonly bump: number;
  /** Keys that have approved/signed. */
  readonly approved: Address[];
  /** Keys that have rejected. */
  readonly rejected: Address[];
  /** Keys that have cancelled (Approved only). */
  readonly cancelled: Address[];
}

export const proposalEncoder: Encoder<ProposalAccount> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['multisig', addressEncoder],
    ['transactionIndex', getU64Encoder()],
    ['status', proposalStatusEncoder],
    ['bump', getU8Encoder()],
    ['approved', getArrayEncoder(addressEncoder)],
    ['rejected', getArrayEncoder(addressEncoder)],
    ['cancelled', getArrayEncoder(addressEncoder)],
  ]))();

export const proposalDecoder: Decoder<ProposalAccount> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['multisig', addressDecoder],
    ['transactionIndex', getU64Decoder()],
    ['status', proposalStatusDecoder],
    ['bump', getU8Decoder()],
    ['approved', getArrayDecoder(addressDecoder)],
    ['rejected', getArrayDecoder(addressDecoder)],
    ['cancelled', getArrayDecoder(addressDecoder)],
  ]))();

export const BATCH_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  156, 194, 70, 44, 22, 88, 137, 44,
]);

/**
 * Stores data required for serial execution of a batch of multisig vault transactions.
 * Vault transaction is a transaction that's executed on behalf of the multisig vault PDA
 * and wraps arbitrary Solana instructions, typically calling into other Solana programs.
 * The transactions themselves are stored in separate PDAs associated with the this account.
 */
export interface BatchAccount {
  /** The multisig this belongs to. */
  readonly multisig: Address;
  /** Member of the Multisig who submitted the batch. */
  readonly creator: Address;
  /** Index of this batch within the multisig transactions. */
  readonly index: bigint;
  /** PDA bump. */
  readonly bump: number;
  /** Index of the vault this batch belongs to. */
  readonly vaultIndex: number;
  /** Derivation bump of the vault PDA this batch belongs to. */
  readonly vaultBump: number;
  /** Number of transactions in the batch. */
  readonly size: number;
  /**
   * Index of the last executed transaction within the batch.
   * 0 means that no transactions have been executed yet.
   */
  readonly executedTransactionIndex: number;
}

export const batchEncoder: FixedSizeEncoder<BatchAccount> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['multisig', addressEncoder],
    ['creator', addressEncoder],
    ['index', getU64Encoder()],
    ['bump', getU8Encoder()],
    ['vaultIndex', getU8Encoder()],
    ['vaultBump', getU8Encoder()],
    ['size', getU32Encoder()],
    ['executedTransactionIndex', getU32Encoder()],
  ]))();

export const batchDecoder: FixedSizeDecoder<BatchAccount> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['multisig', addressDecoder],
    ['creator', addressDecoder],
    ['index', getU64Decoder()],
    ['bump', getU8Decoder()],
    ['vaultIndex', getU8Decoder()],
    ['vaultBump', getU8Decoder()],
    ['size', getU32Decoder()],
    ['executedTransactionIndex', getU32Decoder()],
  ]))();

export const VAULT_BATCH_TRANSACTION_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  196, 121, 46, 36, 12, 19, 252, 7,
]);

/** Stores data required for execution of one transaction from a batch. */
export interface VaultBatchTransactionAccount {
  /** PDA bump. */
  readonly bump: number;
  /**
   * Derivation bumps for additional signers.
   * Some transactions require multiple signers. Often these additional signers are "ephemeral" keypairs
   * that are generated on the client with a sole purpose of signing the transaction and be discarded immediately after.
   * When wrapping such transactions into multisig ones, we replace these "ephemeral" signing keypairs
   * with PDAs derived from the transaction's `transaction_index` and controlled by the Multisig Program;
   * during execution the program includes the seeds of these PDAs into the `invoke_signed` calls,
   * thus "signing" on behalf of these PDAs.
   */
  readonly ephemeralSignerBumps: ReadonlyUint8Array;
  /** data required for executing the transaction. */
  readonly message: VaultTransactionMessage;
}

export const vaultBatchTransactionEncoder: Encoder<VaultBatchTransactionAccount> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['bump', getU8Encoder()],
    ['ephemeralSignerBumps', addEncoderSizePrefix(getBytesEncoder(), getU32Encoder())],
    ['message', vaultTransactionMessageEncoder],
  ]))();

export const vaultBatchTransactionDecoder: Decoder<VaultBatchTransactionAccount> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['bump', getU8Decoder()],
    ['ephemeralSignerBumps', addDecoderSizePrefix(getBytesDecoder(), getU32Decoder())],
    ['message', vaultTransactionMessageDecoder],
  ]))();

export const CONFIG_TRANSACTION_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  94, 8, 4, 35, 113, 139, 139, 112,
]);

/**
 * Stores data required for execution of a multisig configuration transaction.
 * Config transaction can perform a predefined set of actions on the Multisig PDA, such as adding/removing members,
 * changing the threshold, etc.
 */
export interface ConfigTransactionAccount {
  /** The multisig this belongs to. */
  readonly multisig: Address;
  /** Member of the Multisig who submitted the transaction. */
  readonly creator: Address;
  /** Index of this transaction within the multisig. */
  readonly index: bigint;
  /** bump for the transaction seeds. */
  readonly bump: number;
  /** Action to be performed on the multisig. */
  readonly actions: ConfigAction[];
}

export const configTransactionEncoder: Encoder<ConfigTransactionAccount> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['multisig', addressEncoder],
    ['creator', addressEncoder],
    ['index', getU64Encoder()],
    ['bump', getU8Encoder()],
    ['actions', getArrayEncoder(configActionEncoder)],
  ]))();

export const configTransactionDecoder: Decoder<ConfigTransactionAccount> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['multisig', addressDecoder],
    ['creator', addressDecoder],
    ['index', getU64Decoder()],
    ['bump', getU8Decoder()],
    ['actions', getArrayDecoder(configActionDecoder)],
  ]))();
