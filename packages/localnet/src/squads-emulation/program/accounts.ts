import {
  BATCH_DISCRIMINATOR,
  type BatchAccount,
  batchDecoder,
  batchEncoder,
  CONFIG_TRANSACTION_DISCRIMINATOR,
  type ConfigTransactionAccount,
  configTransactionDecoder,
  configTransactionEncoder,
  MULTISIG_DISCRIMINATOR,
  type MultisigAccount,
  multisigDecoder,
  multisigEncoder,
  PROGRAM_CONFIG_DISCRIMINATOR,
  PROPOSAL_DISCRIMINATOR,
  type ProgramConfigAccount,
  type ProposalAccount,
  programConfigDecoder,
  programConfigEncoder,
  proposalDecoder,
  proposalEncoder,
  VAULT_BATCH_TRANSACTION_DISCRIMINATOR,
  type VaultBatchTransactionAccount,
  vaultBatchTransactionDecoder,
  vaultBatchTransactionEncoder,
} from '@flywheel/squads';
import { getEncodedSize, type ReadonlyUint8Array } from '@solana/kit';
import type { Layout } from './borsh.ts';

/** The accounts of the program that the emulated instructions read or write. */
export interface Accounts {
  readonly ProgramConfig: ProgramConfigAccount;
  readonly Multisig: MultisigAccount;
  readonly Proposal: ProposalAccount;
  readonly Batch: BatchAccount;
  readonly ConfigTransaction: ConfigTransactionAccount;
  readonly VaultBatchTransaction: VaultBatchTransactionAccount;
}

type AccountLayout<Value> = Layout<Value> & { readonly discriminator: ReadonlyUint8Array };

export const accountLayouts: { readonly [Name in keyof Accounts]: AccountLayout<Accounts[Name]> } = {
  ProgramConfig: {
    discriminator: PROGRAM_CONFIG_DISCRIMINATOR,
    encoder: programConfigEncoder,
    decoder: programConfigDecoder,
  },
  Multisig: { discriminator: MULTISIG_DISCRIMINATOR, encoder: multisigEncoder, decoder: multisigDecoder },
  Proposal: { discriminator: PROPOSAL_DISCRIMINATOR, encoder: proposalEncoder, decoder: proposalDecoder },
  Batch: { discriminator: BATCH_DISCRIMINATOR, encoder: batchEncoder, decoder: batchDecoder },
  ConfigTransaction: {
    discriminator: CONFIG_TRANSACTION_DISCRIMINATOR,
    encoder: configTransactionEncoder,
    decoder: configTransactionDecoder,
  },
  VaultBatchTransaction: {
    discriminator: VAULT_BATCH_TRANSACTION_DISCRIMINATOR,
    encoder: vaultBatchTransactionEncoder,
    decoder: vaultBatchTransactionDecoder,
  },
};

/** Length of the value's encoding by `encodeAccount`, in bytes. */
export function encodedBytes<Name extends keyof Accounts>(name: Name, value: Accounts[Name]): number {
  const { discriminator, encoder } = accountLayouts[name];
  return discriminator.length + getEncodedSize(value, encoder);
}

/** Encodes discriminator and fields, without unused bytes of the account after them. */
export function encodeAccount<Name extends keyof Accounts>(name: Name, value: Accounts[Name]): Uint8Array {
  const { discriminator, encoder } = accountLayouts[name];
  return Buffer.concat([Buffer.from(discriminator), Buffer.from(encoder.encode(value))]);
}
