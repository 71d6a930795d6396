import {
  type Address,
  address,
  getProgramDerivedAddress,
  getU32Encoder,
  getU64Encoder,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { addressEncoder } from '../model/address-encoder.ts';

/** Squads v4, immutable on every public cluster (its upgrade authority is none). */
export const SQUADS_PROGRAM_ADDRESS = address('SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf');

/** The program's one global account: creation fee and treasury. */
export function programConfigAddress(): Promise<Address> {
  return derive(PREFIX, 'program_config');
}

/** A multisig's address follows from the throwaway key that co-signs its creation. */
export function multisigAddress(createKey: Address): Promise<Address> {
  return derive(PREFIX, 'multisig', addressEncoder.encode(createKey));
}

/** Holds the multisig's tokens and SOL, and signs what the multisig executes. `vaultIndex` is 0 to 255. */
export function vaultAddress(multisig: Address, vaultIndex: number): Promise<Address> {
  return derive(PREFIX, addressEncoder.encode(multisig), 'vault', Uint8Array.of(vaultIndex));
}

/** The batch account at a transaction index of the multisig. */
export function batchAddress(multisig: Address, batchIndex: bigint): Promise<Address> {
  return derive(...transactionSeeds(multisig, batchIndex));
}

/** What members vote on. */
export function proposalAddress(multisig: Address, batchIndex: bigint): Promise<Address> {
  return derive(...transactionSeeds(multisig, batchIndex), 'proposal');
}

/** One vault message of a batch. `position` is zero-based, as everywhere in this project; the chain counts from one. */
export function batchTransactionAddress(multisig: Address, batchIndex: bigint, position: number): Promise<Address> {
  return derive(
    ...transactionSeeds(multisig, batchIndex),
    'batch_transaction',
    getU32Encoder().encode(chainIndex(position)),
  );
}

/** Squads numbers the transactions of a batch from one. */
export function chainIndex(position: number): number {
  return position + 1;
}

const PREFIX = 'multisig';

type Seed = string | ReadonlyUint8Array;

function transactionSeeds(multisig: Address, batchIndex: bigint): Seed[] {
  return [PREFIX, addressEncoder.encode(multisig), 'transaction', getU64Encoder().encode(batchIndex)];
}

async function derive(...seeds: Seed[]): Promise<Address> {
  const [derived] = await getProgramDerivedAddress({ programAddress: SQUADS_PROGRAM_ADDRESS, seeds });
  return derived;
}
