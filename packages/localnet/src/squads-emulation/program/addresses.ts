import { createHash } from 'node:crypto';
import { addressEncoder } from '@flywheel/protocol';
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
import { type Address, getAddressDecoder, isOffCurveAddress } from '@solana/kit';

/** A program-derived address with its bump. */
export interface DerivedAddress {
  readonly address: Address;
  readonly bump: number;
}

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
export function batchTransactionAddress(multisig: Address, batchIndex: bigint, number: number): DerivedAddress {
  return derive(batchTransactionSeeds(multisig, batchIndex, number - 1));
}

export function ephemeralSignerAddress(batchTransaction: Address, index: number): DerivedAddress {
  return derive(ephemeralSignerSeeds(batchTransaction, index));
}

/** Orders addresses by their bytes, as the program sorts members and votes. */
export function compareAddresses(a: Address, b: Address): number {
  return Buffer.compare(Buffer.from(addressEncoder.encode(a)), Buffer.from(addressEncoder.encode(b)));
}

/**
 * Derives with Node's synchronous SHA-256: kit derives asynchronously, and a transaction must run without yielding to
 * the event loop, or a reader could see half of it. Results are cached, because a batch needs the same few addresses
 * many times.
 */
function derive(seeds: Seeds): DerivedAddress {
  const seedBytes = seeds.map((seed) => Buffer.from(seed));
  const memoKey = Buffer.concat(seedBytes).toString('base64');
  const remembered = derivedAddresses.get(memoKey);
  if (remembered) return remembered;
  for (let bump = 255; bump >= 0; bump--) {
    const hash = createHash('sha256');
    for (const seed of seedBytes) hash.update(seed);
    hash.update(Uint8Array.of(bump)).update(Buffer.from(programBytes)).update('ProgramDerivedAddress');
    const candidate = getAddressDecoder().decode(hash.digest());
    if (!isOffCurveAddress(candidate)) continue;
    const derived = { address: candidate, bump };
    if (derivedAddresses.size >= REMEMBERED_ADDRESSES) derivedAddresses.clear();
    derivedAddresses.set(memoKey, derived);
    return derived;
  }
  throw new Error(`No bump of 256 takes the address of ${seeds.length} seeds off the curve.`);
}

// About 200 bytes each: 2 MB at most.
const REMEMBERED_ADDRESSES = 10_000;
const derivedAddresses = new Map<string, DerivedAddress>();
const programBytes = addressEncoder.encode(SQUADS_PROGRAM_ADDRESS);
