import { addressEncoder, deriveAddress } from '@flywheel/protocol';
import { type Address, getU32Encoder, getU64Encoder, type ReadonlyUint8Array } from '@solana/kit';
import { SQUADS_PROGRAM_ADDRESS } from './program.ts';

/** Derives the program's one global account, which holds creation fee and treasury. */
export function programConfigAddress(): Address {
  return derive(programConfigSeeds());
}

/** Derives a multisig's address from the throwaway key that co-signs its creation. */
export function multisigAddress(createKey: Address): Address {
  return derive(multisigSeeds(createKey));
}

/** Index of the only vault that Flywheel uses of a multisig. */
export const VAULT_INDEX = 0;

/**
 * Derives a vault, which holds tokens and SOL and signs what the multisig executes.
 * @param vaultIndex 0 to 255.
 */
export function vaultAddress(multisig: Address, vaultIndex: number): Address {
  return derive(vaultSeeds(multisig, vaultIndex));
}

/**
 * Derives the account at a transaction index of a multisig: a batch, or a config transaction.
 * @param index counts from 1.
 */
export function transactionAddress(multisig: Address, index: bigint): Address {
  return derive(transactionSeeds(multisig, index));
}

/** Derives the account that holds the members' votes on the transaction at an index. */
export function proposalAddress(multisig: Address, index: bigint): Address {
  return derive(proposalSeeds(multisig, index));
}

/**
 * Derives the account of one vault message of a batch.
 * @param position counts from 0, as everywhere in Flywheel; the program counts from 1.
 */
export function batchTransactionAddress(multisig: Address, batchIndex: bigint, position: number): Address {
  return derive(batchTransactionSeeds(multisig, batchIndex, position));
}

/** Seeds of a program-derived address, the bump left out. */
export type Seeds = readonly (string | ReadonlyUint8Array)[];

/** Seeds of `programConfigAddress`. */
export function programConfigSeeds(): Seeds {
  return [PREFIX, 'program_config'];
}

/** Seeds of `multisigAddress`. */
export function multisigSeeds(createKey: Address): Seeds {
  return [PREFIX, 'multisig', addressEncoder.encode(createKey)];
}

/** Seeds of `vaultAddress`. */
export function vaultSeeds(multisig: Address, vaultIndex: number): Seeds {
  return [PREFIX, addressEncoder.encode(multisig), 'vault', Uint8Array.of(vaultIndex)];
}

/** Seeds of `transactionAddress`. */
export function transactionSeeds(multisig: Address, index: bigint): Seeds {
  return [PREFIX, addressEncoder.encode(multisig), 'transaction', getU64Encoder().encode(index)];
}

/** Seeds of `proposalAddress`. */
export function proposalSeeds(multisig: Address, index: bigint): Seeds {
  return [...transactionSeeds(multisig, index), 'proposal'];
}

/**
 * Seeds of `batchTransactionAddress`.
 * @param position counts from 0; the program counts from 1.
 */
export function batchTransactionSeeds(multisig: Address, batchIndex: bigint, position: number): Seeds {
  const chainPosition = getU32Encoder().encode(position + 1);
  return [...transactionSeeds(multisig, batchIndex), 'batch_transaction', chainPosition];
}

/** Seeds of a key that the program invents and signs with while it executes a vault message of the batch. */
export function ephemeralSignerSeeds(batchTransaction: Address, index: number): Seeds {
  return [PREFIX, addressEncoder.encode(batchTransaction), 'ephemeral_signer', Uint8Array.of(index)];
}

const PREFIX = 'multisig';

function derive(seeds: Seeds): Address {
  return deriveAddress(SQUADS_PROGRAM_ADDRESS, seeds).address;
}
