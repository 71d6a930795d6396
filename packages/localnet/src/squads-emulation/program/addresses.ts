import { addressEncoder, type DerivedAddress, deriveAddress } from '@flywheel/protocol';
import {
  batchTransactionSeeds,
  ephemeralSignerSeeds,
  multisigSeeds,
  programConfigSeeds,
  proposalSeeds,
  type Seeds,
  SQUADS_PROGRAM_ADDRESS,
  transactionSeeds,
  vaultSeeds,
} from '@flywheel/squads';
import type { Address } from '@solana/kit';

export function programConfigAddress(): DerivedAddress {
  return derive(programConfigSeeds());
}

export function multisigAddress(createKey: Address): DerivedAddress {
  return derive(multisigSeeds(createKey));
}

export function vaultAddress(multisig: Address, vaultIndex: number): DerivedAddress {
  return derive(vaultSeeds(multisig, vaultIndex));
}

/** Derives a batch or a config transaction: they share the multisig's index. */
export function transactionAddress(multisig: Address, index: bigint): DerivedAddress {
  return derive(transactionSeeds(multisig, index));
}

export function proposalAddress(multisig: Address, batchIndex: bigint): DerivedAddress {
  return derive(proposalSeeds(multisig, batchIndex));
}

/** Derives the address of a batch transaction. @param number counts from 1, as in the program. */
export function numberedTransactionAddress(multisig: Address, batchIndex: bigint, number: number): DerivedAddress {
  return derive(batchTransactionSeeds(multisig, batchIndex, number - 1));
}

export function ephemeralSignerAddress(batchTransaction: Address, index: number): DerivedAddress {
  return derive(ephemeralSignerSeeds(batchTransaction, index));
}

/** Orders addresses by their bytes, as the program sorts members and votes. */
export function compareAddresses(a: Address, b: Address): number {
  return Buffer.compare(Buffer.from(addressEncoder.encode(a)), Buffer.from(addressEncoder.encode(b)));
}

function derive(seeds: Seeds): DerivedAddress {
  return deriveAddress(SQUADS_PROGRAM_ADDRESS, seeds);
}
