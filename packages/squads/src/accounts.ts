import { ADDRESS_BYTES } from '@flywheel/protocol';
import { type Decoder, type EncodedAccount, getEncodedSize, type ReadonlyUint8Array } from '@solana/kit';
import { configActionsEncoder } from './config-actions.ts';
import {
  BATCH_DISCRIMINATOR,
  type BatchAccount,
  batchDecoder,
  batchEncoder,
  CONFIG_TRANSACTION_DISCRIMINATOR,
  type ConfigTransactionAccount,
  configTransactionDecoder,
  MULTISIG_DISCRIMINATOR,
  type MultisigAccount,
  multisigDecoder,
  PROGRAM_CONFIG_DISCRIMINATOR,
  PROPOSAL_DISCRIMINATOR,
  type ProgramConfigAccount,
  type ProposalAccount,
  programConfigDecoder,
  proposalDecoder,
  VAULT_BATCH_TRANSACTION_DISCRIMINATOR,
  type VaultBatchTransactionAccount,
  vaultBatchTransactionDecoder,
} from './generated/accounts.ts';
import type { ConfigAction } from './generated/types.ts';
import { hasDiscriminator, SQUADS_PROGRAM_ADDRESS } from './program.ts';
import { countVaultMessageParts } from './vault-message.ts';

/** An account as any RPC client reads it. */
export type AccountBytes = Pick<EncodedAccount, 'address' | 'programAddress' | 'data'>;

/**
 * Decodes a multisig.
 * @throws Error if another program owns the account, or its bytes are of another kind, too short or malformed.
 */
export function decodeMultisig(account: AccountBytes): MultisigAccount {
  return decode('Multisig', account, MULTISIG_DISCRIMINATOR, multisigDecoder);
}

/** Decodes a proposal. @throws Error as `decodeMultisig`. */
export function decodeProposal(account: AccountBytes): ProposalAccount {
  return decode('Proposal', account, PROPOSAL_DISCRIMINATOR, proposalDecoder);
}

/** Decodes a batch. @throws Error as `decodeMultisig`. */
export function decodeBatch(account: AccountBytes): BatchAccount {
  return decode('Batch', account, BATCH_DISCRIMINATOR, batchDecoder);
}

/** Decodes the account of one vault message of a batch. @throws Error as `decodeMultisig`. */
export function decodeVaultBatchTransaction(account: AccountBytes): VaultBatchTransactionAccount {
  return decode('VaultBatchTransaction', account, VAULT_BATCH_TRANSACTION_DISCRIMINATOR, vaultBatchTransactionDecoder);
}

/** Decodes a config transaction. @throws Error as `decodeMultisig`. */
export function decodeConfigTransaction(account: AccountBytes): ConfigTransactionAccount {
  return decode('ConfigTransaction', account, CONFIG_TRANSACTION_DISCRIMINATOR, configTransactionDecoder);
}

/** Decodes the program’s one global account. @throws Error as `decodeMultisig`. */
export function decodeProgramConfig(account: AccountBytes): ProgramConfigAccount {
  return decode('ProgramConfig', account, PROGRAM_CONFIG_DISCRIMINATOR, programConfigDecoder);
}

/** Bits of a member's `permissions.mask`. */
export const PERMISSION = { initiate: 1, vote: 2, execute: 4 } as const;

/** Anchor's discriminator: the first eight bytes of SHA-256("account:" or "global:" and the name). */
export const DISCRIMINATOR_BYTES = 8;

/** Size of a batch account, in bytes. */
export function batchBytes(): number {
  return DISCRIMINATOR_BYTES + batchEncoder.fixedSize;
}

/** Size of a multisig account, in bytes. It keeps the room of a rent collector when it has none. */
export function multisigBytes(memberCount: number): number {
  return DISCRIMINATOR_BYTES + MULTISIG_HEADER_BYTES + memberCount * MEMBER_BYTES;
}

/** Size of a proposal account, in bytes: it has room for every member in each of its three lists of votes. */
export function proposalBytes(memberCount: number): number {
  return DISCRIMINATOR_BYTES + PROPOSAL_HEADER_BYTES + 3 * (COUNT_BYTES + memberCount * ADDRESS_BYTES);
}

/**
 * Size of the account that holds one vault message of a batch, in bytes. It has what the message has, and counts every list in
 * four bytes. No signer of the message is ephemeral.
 * @throws Error when the bytes are not a vault message.
 */
export function vaultBatchTransactionBytes(vaultMessage: ReadonlyUint8Array): number {
  const { instructions, lookups } = countVaultMessageParts(vaultMessage);
  // The message counts its three lists, and the indices of instructions and lookups, in one byte, and data in two.
  const countsOfOne = 3 + instructions + 2 * lookups;
  const wider = countsOfOne * (COUNT_BYTES - 1) + instructions * (COUNT_BYTES - 2);
  const before = DISCRIMINATOR_BYTES + BUMP_BYTES + COUNT_BYTES;
  return before + vaultMessage.length + wider;
}

/** Size of a config transaction's account, in bytes. */
export function configTransactionBytes(actions: readonly ConfigAction[]): number {
  return DISCRIMINATOR_BYTES + CONFIG_TRANSACTION_HEADER_BYTES + getEncodedSize([...actions], configActionsEncoder);
}

/** A Borsh vector begins with a count of this size. */
const COUNT_BYTES = 4;
const BUMP_BYTES = 1;
const MEMBER_BYTES = ADDRESS_BYTES + 1;
/** Create key, config authority, threshold, time lock, two indices, rent collector, bump, count of members. */
const MULTISIG_HEADER_BYTES = 2 * ADDRESS_BYTES + 2 + 4 + 8 + 8 + (1 + ADDRESS_BYTES) + 1 + COUNT_BYTES;
/** Multisig, index, status with its time, bump. */
const PROPOSAL_HEADER_BYTES = ADDRESS_BYTES + 8 + (1 + 8) + 1;
/** Multisig, creator, index, bump. */
const CONFIG_TRANSACTION_HEADER_BYTES = 2 * ADDRESS_BYTES + 8 + 1;

function decode<T>(kind: string, account: AccountBytes, discriminator: ReadonlyUint8Array, decoder: Decoder<T>): T {
  const { address, programAddress, data } = account;
  if (programAddress !== SQUADS_PROGRAM_ADDRESS) {
    throw new Error(`${address} is owned by ${programAddress}, not by Squads (${SQUADS_PROGRAM_ADDRESS}).`);
  }
  if (!hasDiscriminator(data, discriminator)) {
    const start = [...data.slice(0, DISCRIMINATOR_BYTES)].join(' ');
    throw new Error(`${address} is not a Squads ${kind}: its ${data.length} bytes start with ${start || 'nothing'}.`);
  }
  try {
    return decoder.decode(data, DISCRIMINATOR_BYTES);
  } catch (cause) {
    throw new Error(`${address} is a Squads ${kind} that is too short or malformed (${data.length} bytes).`, { cause });
  }
}
