import { sha256 } from '@noble/hashes/sha2.js';
import {
  type Address,
  assertByteArrayHasEnoughBytesForCodec,
  assertIsAddress,
  createDecoder,
  createEncoder,
  type FixedSizeDecoder,
  type FixedSizeEncoder,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { ASSOCIATED_TOKEN_PROGRAM_ADDRESS, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import { decodeBase58, encodeBase58 } from './base58.ts';
import { isOnCurve } from './curve.ts';

/** A program-derived address with its bump, the last of its seeds. */
export interface DerivedAddress {
  readonly address: Address;
  readonly bump: number;
}

/**
 * Derives the address of an account that a program signs for, as kit's `getProgramDerivedAddress` does, but at once and in a
 * tenth of the time. It keeps the last 10,000 addresses, because each job of a batch needs the same ones.
 * @param seeds without the bump; a text stands for its bytes.
 * @throws RangeError for a seed above 32 bytes.
 */
export function deriveAddress(
  programAddress: Address,
  seeds: readonly (string | ReadonlyUint8Array)[],
): DerivedAddress {
  const bytes = seedBytes(seeds);
  const key = latin1(bytes) + latin1(bytesOf(programAddress));
  const known = derived.get(key);
  if (known !== undefined) return known;
  const found = findBump(bytes, programAddress);
  derived.set(key, found);
  for (const oldest of derived.keys()) {
    if (derived.size <= MAX_DERIVED) break;
    derived.delete(oldest);
  }
  return found;
}

/** Derives a wallet's token account of a mint. It serves SPL Token and Token-2022, because the token program is a seed. */
export function associatedTokenAddress({ owner, tokenProgram, mint }: AssociatedTokenAccount): Address {
  const seeds = [owner, tokenProgram, mint].map(bytesOf);
  return deriveAddress(ASSOCIATED_TOKEN_PROGRAM_ADDRESS, seeds).address;
}

/** What the address of an associated token account is made of. */
export interface AssociatedTokenAccount {
  readonly owner: Address;
  readonly tokenProgram: Address;
  readonly mint: Address;
}

/** True for the two token programs: SPL Token and Token-2022. */
export function isTokenProgram(programAddress: string): boolean {
  return programAddress === TOKEN_PROGRAM_ADDRESS || programAddress === TOKEN_2022_PROGRAM_ADDRESS;
}

/** Checks if a text is the base58 of 32 bytes. */
export function isAddress(text: string): text is Address {
  return findBytes(text) !== null;
}

/**
 * Takes a text for an address.
 * @throws SolanaError as kit's `address`, if it is not the base58 of 32 bytes.
 */
export function address(text: string): Address {
  bytesOf(text);
  return text as Address; // it has the bytes of one
}

/** Address of 32 zero bytes, which accounts hold in place of none. It is also the System program's. */
export const NO_ADDRESS = '11111111111111111111111111111111' as Address;

/** Checks that no private key belongs to an address, which is then a program's. */
export function isOffCurveAddress(address: Address): boolean {
  return !isOnCurve(bytesOf(address));
}

/** Sentence about a text that `isAddress` refuses, without its subject, which is the text or its place. */
export const NOT_AN_ADDRESS = 'is not an address: base58 of 32 bytes is needed.';

/** The same, to a person who has typed the text into a form or a file. */
export const NOT_A_TYPED_ADDRESS = 'is not a Solana address: enter 32 to 44 letters and digits.';

/**
 * Finds why a text is not the address of a wallet.
 * @returns a sentence without its subject, which is the text or its place; null for the address of a wallet.
 */
export function findWalletIssue(text: string): string | null {
  if (!isAddress(text)) return NOT_AN_ADDRESS;
  return isOffCurveAddress(text) ? 'belongs to a program, not to a wallet.' : null;
}

/**
 * Encodes addresses like kit's encoder; it keeps the bytes, because a batch writes the same dozen addresses hundreds of
 * times.
 */
export const addressEncoder: FixedSizeEncoder<Address, 32> = /* @__PURE__ */ createEncoder({
  fixedSize: 32,
  write: (address, bytes, offset) => {
    bytes.set(bytesOf(address), offset);
    return offset + ADDRESS_BYTES;
  },
});

/** Decodes addresses like kit's decoder. */
export const addressDecoder: FixedSizeDecoder<Address, 32> = /* @__PURE__ */ createDecoder({
  fixedSize: 32,
  read: (bytes, offset) => {
    assertByteArrayHasEnoughBytesForCodec('address', ADDRESS_BYTES, bytes, offset);
    const end = offset + ADDRESS_BYTES;
    return [encodeBase58(bytes.subarray(offset, end)) as Address, end]; // 32 bytes
  },
});

export const ADDRESS_BYTES = 32;

/** More addresses than a full batch names; about 500 KiB. */
const MAX_KNOWN = 4_096;
const knownBytes = /* @__PURE__ */ new Map<string, Uint8Array>();

function bytesOf(text: string): Uint8Array {
  const bytes = findBytes(text);
  if (bytes !== null) return bytes;
  assertIsAddress(text); // throws an error with what is wrong
  throw new Error(`${text} is an address, but could not be decoded.`);
}

function findBytes(text: string): Uint8Array | null {
  const known = knownBytes.get(text);
  if (known !== undefined) return known;
  if (text.length < MIN_LENGTH || text.length > MAX_LENGTH) return null;
  const bytes = decodeBase58(text);
  if (bytes?.length !== ADDRESS_BYTES) return null;
  if (knownBytes.size >= MAX_KNOWN) knownBytes.clear();
  knownBytes.set(text, bytes);
  return bytes;
}

/** Letters of the lowest and the highest address. */
const [MIN_LENGTH, MAX_LENGTH] = [32, 44];

/** About 300 bytes each: 3 MB at most. */
const MAX_DERIVED = 10_000;
/** By their seeds and program, oldest first. */
const derived = /* @__PURE__ */ new Map<string, DerivedAddress>();

function seedBytes(seeds: readonly (string | ReadonlyUint8Array)[]): Uint8Array {
  const parts = seeds.map((seed) => (typeof seed === 'string' ? new TextEncoder().encode(seed) : seed));
  const joined = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    if (part.length > MAX_SEED_BYTES)
      throw new RangeError(`A seed has ${part.length} bytes; the most is ${MAX_SEED_BYTES}.`);
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

const MAX_SEED_BYTES = 32;

/** Turns each byte into a character. Spreading the bytes into the call takes eight times as long. */
function latin1(bytes: Uint8Array): string {
  return Reflect.apply(String.fromCharCode, null, bytes);
}

function findBump(seeds: Uint8Array, programAddress: Address): DerivedAddress {
  const hashed = new Uint8Array(seeds.length + 1 + ADDRESS_BYTES + MARKER.length);
  hashed.set(seeds);
  hashed.set(bytesOf(programAddress), seeds.length + 1);
  hashed.set(MARKER, seeds.length + 1 + ADDRESS_BYTES);
  for (let bump = MAX_BUMP; bump > 0; bump--) {
    hashed[seeds.length] = bump;
    const hash = sha256(hashed);
    if (!isOnCurve(hash)) return { address: encodeBase58(hash) as Address, bump }; // 32 bytes
  }
  throw new Error(`No bump takes the address of ${seeds.length} bytes of seeds off the curve.`);
}

const MAX_BUMP = 255;
const MARKER = /* @__PURE__ */ new TextEncoder().encode('ProgramDerivedAddress');
