import { address, addressDecoder, NO_ADDRESS } from '@flywheel/protocol';
import type { Address, ReadonlyUint8Array } from '@solana/kit';

// The program as it is deployed: where its bytes are on chain, and their hash.

/**
 * SHA-256, in lowercase hex, of the deployed Squads v4 program without its trailing zeros, whose number depends on the size of
 * the account that holds the program. The program is immutable on mainnet, so that the hash never changes there.
 */
export const SQUADS_PROGRAM_SHA256 = 'd48660833989ecea3145ff726164fe640bd90696f03ce00dfd0cda258cbf2fac';

/** Account with the bytes of the deployed program; the program account names it. */
export const SQUADS_PROGRAM_DATA_ADDRESS = /* @__PURE__ */ address('Fy3YMJCvwbAXUgUM5b91ucUVA3jYzwWLHL3MwBqKsh8n');

/** BPF upgradeable loader, which owns programs and the accounts with their bytes. */
export const UPGRADEABLE_LOADER_ADDRESS = /* @__PURE__ */ address('BPFLoaderUpgradeab1e11111111111111111111111');

/** The content of a program data account. */
export interface ProgramData {
  /** The key that can replace the program; null if it is immutable. */
  readonly upgradeAuthority: Address | null;
  /** The ELF file, followed by zeros. */
  readonly bytes: ReadonlyUint8Array;
}

/** Decodes a program data account of the upgradeable loader; null if the data is something else. */
export function decodeProgramData(data: ReadonlyUint8Array): ProgramData | null {
  if (data.length <= HEADER_BYTES || data[0] !== PROGRAM_DATA_KIND) return null;
  const authority = data[AUTHORITY_OFFSET] === 0 ? null : addressDecoder.decode(data, AUTHORITY_OFFSET + 1);
  // `solana-test-validator` writes it for programs of its command line.
  return { upgradeAuthority: authority === NO_ADDRESS ? null : authority, bytes: data.slice(HEADER_BYTES) };
}

/**
 * Header before the bytes (solana-loader-v3-interface, UpgradeableLoaderState): kind u32, slot u64, u8 that is 1 with an upgrade
 * authority, its address.
 */
const HEADER_BYTES = 45;
const PROGRAM_DATA_KIND = 3;
const AUTHORITY_OFFSET = 12;

/** Decodes the account of an upgradeable program: the address of its program data account; null if it is something else. */
export function decodeProgramAccount(data: ReadonlyUint8Array): Address | null {
  if (data.length !== PROGRAM_BYTES || data[0] !== PROGRAM_KIND) return null;
  return addressDecoder.decode(data, PROGRAM_DATA_ADDRESS_OFFSET);
}

/** The account of a program: kind u32, the address of its program data account. */
const PROGRAM_BYTES = 36;
const PROGRAM_KIND = 2;
const PROGRAM_DATA_ADDRESS_OFFSET = 4;

/** Returns a program without its trailing zeros: the bytes of `SQUADS_PROGRAM_SHA256`. */
export function withoutTrailingZeros(bytes: ReadonlyUint8Array): Uint8Array {
  let { length } = bytes;
  while (length > 0 && bytes[length - 1] === 0) length -= 1;
  return new Uint8Array(bytes).subarray(0, length);
}
