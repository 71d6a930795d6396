import {
  type Address,
  getAddressEncoder,
  getProgramDerivedAddress,
  getU32Encoder,
  getU64Encoder,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { ASSOCIATED_TOKEN_PROGRAM, SQUADS_PROGRAM } from './programs.ts';

type Seed = string | ReadonlyUint8Array;

const addressEncoder = getAddressEncoder();

/** Vault 0 of a multisig. */
export function vaultAddress(multisig: Address): Promise<Address> {
  return derive(SQUADS_PROGRAM, ['multisig', addressEncoder.encode(multisig), 'vault', Uint8Array.of(0)]);
}

/** Where Squads keeps what a batch is: its size, and how much of it is executed. */
export function batchAddress(multisig: Address, batchIndex: bigint): Promise<Address> {
  return derive(SQUADS_PROGRAM, ofIndex(multisig, batchIndex));
}

/** Where Squads keeps who voted on a batch. */
export function proposalAddress(multisig: Address, batchIndex: bigint): Promise<Address> {
  return derive(SQUADS_PROGRAM, [...ofIndex(multisig, batchIndex), 'proposal']);
}

/** @param position zero-based; the program counts from one. */
export function batchTransactionAddress(multisig: Address, batchIndex: bigint, position: number): Promise<Address> {
  const chainIndex = getU32Encoder().encode(position + 1);
  return derive(SQUADS_PROGRAM, [...ofIndex(multisig, batchIndex), 'batch_transaction', chainIndex]);
}

/** The associated token account of a wallet. */
export function tokenAccountAddress(owner: Address, mint: Address, tokenProgram: Address): Promise<Address> {
  return derive(
    ASSOCIATED_TOKEN_PROGRAM,
    [owner, tokenProgram, mint].map((seed) => addressEncoder.encode(seed)),
  );
}

function ofIndex(multisig: Address, batchIndex: bigint): Seed[] {
  return ['multisig', addressEncoder.encode(multisig), 'transaction', getU64Encoder().encode(batchIndex)];
}

async function derive(programAddress: Address, seeds: Seed[]): Promise<Address> {
  const [derived] = await getProgramDerivedAddress({ programAddress, seeds });
  return derived;
}
