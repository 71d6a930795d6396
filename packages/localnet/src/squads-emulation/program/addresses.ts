import { createHash } from 'node:crypto';
import {
  type Address,
  address,
  getAddressDecoder,
  getAddressEncoder,
  getU32Encoder,
  getU64Encoder,
  isOffCurveAddress,
  type ReadonlyUint8Array,
} from '@solana/kit';

/** The Squads multisig program v4, the same on every cluster. */
export const SQUADS_PROGRAM_ADDRESS = address('SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf');

/** A program-derived address and the bump that took it off the curve. */
export interface DerivedAddress {
  readonly address: Address;
  readonly bump: number;
}

export function programConfigAddress(): DerivedAddress {
  return derive([prefix, utf8('program_config')]);
}

export function multisigAddress(createKey: Address): DerivedAddress {
  return derive([prefix, prefix, bytesOf(createKey)]);
}

export function vaultAddress(multisig: Address, vaultIndex: number): DerivedAddress {
  return derive([prefix, bytesOf(multisig), utf8('vault'), Uint8Array.of(vaultIndex)]);
}

/** Of a batch or a config transaction: they share the multisig's index. */
export function transactionAddress(multisig: Address, index: bigint): DerivedAddress {
  return derive(transactionSeeds(multisig, index));
}

export function proposalAddress(multisig: Address, batchIndex: bigint): DerivedAddress {
  return derive([...transactionSeeds(multisig, batchIndex), utf8('proposal')]);
}

/** @param position counts from 1, as the program does. */
export function batchTransactionAddress(multisig: Address, batchIndex: bigint, position: number): DerivedAddress {
  const seeds = [
    ...transactionSeeds(multisig, batchIndex),
    utf8('batch_transaction'),
    getU32Encoder().encode(position),
  ];
  return derive(seeds);
}

export function ephemeralSignerAddress(batch: Address, index: number): DerivedAddress {
  return derive([prefix, bytesOf(batch), utf8('ephemeral_signer'), Uint8Array.of(index)]);
}

/** Orders addresses by their bytes, as the program sorts members and votes. */
export function compareAddresses(a: Address, b: Address): number {
  return Buffer.compare(Buffer.from(bytesOf(a)), Buffer.from(bytesOf(b)));
}

const prefix = utf8('multisig');

function transactionSeeds(multisig: Address, batchIndex: bigint): ReadonlyUint8Array[] {
  return [prefix, bytesOf(multisig), utf8('transaction'), getU64Encoder().encode(batchIndex)];
}

/**
 * Kit derives addresses asynchronously. A transaction must run without yielding to the event loop, or a reader could see
 * it half done, so this derives with Node's synchronous SHA-256. Remembered, because a batch asks for the same few again
 * and again.
 */
function derive(seeds: readonly ReadonlyUint8Array[]): DerivedAddress {
  const memoKey = Buffer.concat(seeds.map((seed) => Buffer.from(seed))).toString('base64');
  const remembered = derivedAddresses.get(memoKey);
  if (remembered) return remembered;
  for (let bump = 255; bump >= 0; bump--) {
    const hash = createHash('sha256');
    for (const seed of seeds) hash.update(Buffer.from(seed));
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
const programBytes = getAddressEncoder().encode(SQUADS_PROGRAM_ADDRESS);

function bytesOf(value: Address): ReadonlyUint8Array {
  return getAddressEncoder().encode(value);
}

function utf8(text: string): ReadonlyUint8Array {
  return new TextEncoder().encode(text);
}
