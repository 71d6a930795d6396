// Generated from the IDL of @sqds/multisig by `npm run generate`. Do not edit.

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
  getU32Decoder,
  getU32Encoder,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { instruction, optional, type SquadsInstruction } from '../program.ts';
import { type ConfigAction, configActionDecoder, configActionEncoder } from './types.ts';

export const CONFIG_TRANSACTION_CREATE_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  155, 236, 87, 228, 137, 75, 81, 39,
]);

export interface ConfigTransactionCreateArgs {
  readonly actions: ConfigAction[];
  readonly memo: ReadonlyUint8Array | null;
}

export const configTransactionCreateArgsEncoder: Encoder<ConfigTransactionCreateArgs> = /* @__PURE__ */ (() =>
  getStructEncoder([
    ['actions', getArrayEncoder(configActionEncoder)],
    ['memo', getNullableEncoder(addEncoderSizePrefix(getBytesEncoder(), getU32Encoder()))],
  ]))();

export const configTransactionCreateArgsDecoder: Decoder<ConfigTransactionCreateArgs> = /* @__PURE__ */ (() =>
  getStructDecoder([
    ['actions', getArrayDecoder(configActionDecoder)],
    ['memo', getNullableDecoder(addDecoderSizePrefix(getBytesDecoder(), getU32Decoder()))],
  ]))();

export interface ConfigTransactionCreateInput extends ConfigTransactionCreateArgs {
  readonly multisig: Address;
  readonly transaction: Address;
  /** The member of the multisig that is creating the transaction. */
  readonly creator: Address;
  /** The payer for the transaction account rent. */
  readonly rentPayer: Address;
}

/** Create a new config transaction. */
export function getConfigTransactionCreateInstruction(input: ConfigTransactionCreateInput): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.WRITABLE },
    { address: input.transaction, role: AccountRole.WRITABLE },
    { address: input.creator, role: AccountRole.READONLY_SIGNER },
    { address: input.rentPayer, role: AccountRole.WRITABLE_SIGNER },
    { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY },
  ];
  return instruction(
    CONFIG_TRANSACTION_CREATE_DISCRIMINATOR,
    accounts,
    configTransactionCreateArgsEncoder.encode(input),
  );
}

export const CONFIG_TRANSACTION_EXECUTE_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  114, 146, 244, 189, 252, 140, 36, 40,
]);

export interface ConfigTransactionExecuteInput {
  /** The multisig account that owns the transaction. */
  readonly multisig: Address;
  /** One of the multisig members with `Execute` permission. */
  readonly member: Address;
  /** The proposal account associated with the transaction. */
  readonly proposal: Address;
  /** The transaction to execute. */
  readonly transaction: Address;
  /**
   * The account that will be charged/credited in case the config transaction causes space reallocation,
   * for example when adding a new member, adding or removing a spending limit.
   * This is usually the same as `member`, but can be a different account if needed.
   */
  readonly rentPayer?: Address | null;
}

/**
 * Execute a config transaction.
 * The transaction must be `Approved`.
 */
export function getConfigTransactionExecuteInstruction(input: ConfigTransactionExecuteInput): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.WRITABLE },
    { address: input.member, role: AccountRole.READONLY_SIGNER },
    { address: input.proposal, role: AccountRole.WRITABLE },
    { address: input.transaction, role: AccountRole.READONLY },
    optional(input.rentPayer, AccountRole.WRITABLE_SIGNER),
    { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY },
  ];
  return instruction(CONFIG_TRANSACTION_EXECUTE_DISCRIMINATOR, accounts);
}

export const CONFIG_TRANSACTION_ACCOUNTS_CLOSE_DISCRIMINATOR: ReadonlyUint8Array = /* @__PURE__ */ new Uint8Array([
  80, 203, 84, 53, 151, 112, 187, 186,
]);

export interface ConfigTransactionAccountsCloseInput {
  readonly multisig: Address;
  /** the logic within `config_transaction_accounts_close` does the rest of the checks. */
  readonly proposal: Address;
  /** ConfigTransaction corresponding to the `proposal`. */
  readonly transaction: Address;
  /** The rent collector. */
  readonly rentCollector: Address;
}

/**
 * Closes a `ConfigTransaction` and the corresponding `Proposal`.
 * `transaction` can be closed if either:
 * - the `proposal` is in a terminal state: `Executed`, `Rejected`, or `Cancelled`.
 * - the `proposal` is stale.
 */
export function getConfigTransactionAccountsCloseInstruction(
  input: ConfigTransactionAccountsCloseInput,
): SquadsInstruction {
  const accounts = [
    { address: input.multisig, role: AccountRole.READONLY },
    { address: input.proposal, role: AccountRole.WRITABLE },
    { address: input.transaction, role: AccountRole.WRITABLE },
    { address: input.rentCollector, role: AccountRole.WRITABLE },
    { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY },
  ];
  return instruction(CONFIG_TRANSACTION_ACCOUNTS_CLOSE_DISCRIMINATOR, accounts);
}
