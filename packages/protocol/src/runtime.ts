import { BASE_ACCOUNT_SIZE, type Blockhash, type Signature } from '@solana/kit';
import { ADDRESS_BYTES } from './addresses.ts';
import { sha256Hex } from './sha256.ts';

/**
 * Numbers of Solana's runtime and of Jito's block engine that `@solana/kit` and `@solana-program/*` do not export. What
 * they export stands there: `BASE_ACCOUNT_SIZE`, `MAX_COMPUTE_UNIT_LIMIT`, and the sizes of token accounts, mints and
 * nonces.
 */

/** Bytes of a serialized transaction, by its version (Agave, `PACKET_DATA_SIZE`; SIMD-0385 for version 1). */
export const MAX_TRANSACTION_BYTES = { 0: 1_232, 1: 4_096 } as const;

export const SIGNATURE_BYTES = 64;

/** Accounts that a transaction may lock, looked-up ones included (Agave, `MAX_TX_ACCOUNT_LOCKS`). */
export const MAX_ACCOUNT_LOCKS = 64;

/** Instructions that a transaction may run, inner ones included (Agave, `max_instruction_trace_length`). */
export const MAX_INSTRUCTION_TRACE_LENGTH = 64;

/** Agave, `DEFAULT_TARGET_LAMPORTS_PER_SIGNATURE`. */
export const LAMPORTS_PER_SIGNATURE = 5_000n;

export const LAMPORTS_PER_SOL = 1_000_000_000;
const MICRO_LAMPORTS_PER_LAMPORT = 1_000_000n;

/** Compute units of each instruction if the transaction sets no limit; builtin programs have fewer (SIMD-0170). */
export const DEFAULT_INSTRUCTION_UNITS = 200_000;
/** Compute units of each instruction of a builtin program if the transaction sets no limit (SIMD-0170). */
export const DEFAULT_BUILTIN_INSTRUCTION_UNITS = 3_000;

/** Compute units that an instruction of a builtin program takes (Agave, each builtin's `DEFAULT_COMPUTE_UNITS`). */
export const BUILTIN_UNITS = 150;

/** Accounts in one `getMultipleAccounts` (Agave, rpc-client-api, `MAX_MULTIPLE_ACCOUNTS`). */
export const MAX_MULTIPLE_ACCOUNTS = 100;
/** Signatures in one `getSignatureStatuses` (Agave, rpc-client-api, `MAX_GET_SIGNATURE_STATUSES_QUERY_ITEMS`). */
export const MAX_SIGNATURE_STATUSES = 256;
/**
 * Signatures in one page of `getSignaturesForAddress` (Agave, rpc-client-api,
 * `MAX_GET_CONFIRMED_SIGNATURES_FOR_ADDRESS2_LIMIT`).
 */
export const MAX_SIGNATURES_FOR_ADDRESS = 1_000;

/** Blocks for which a blockhash can be used (Agave, `MAX_PROCESSING_AGE`). */
export const MAX_BLOCKHASH_AGE = 150n;

/**
 * The latest time of a block that a node is believed, in seconds since 1970: the end of the year 9999, after which ISO 8601
 * has no year of four digits. Agave sends an i64, and `Date` throws far below its maximum.
 */
export const MAX_BLOCK_TIME = 253_402_300_799;

/** Lifetime of a transaction that can never land: its blockhash is 32 zero bytes, which no block has. */
export const NO_BLOCK = {
  blockhash: '11111111111111111111111111111111' as Blockhash,
  lastValidBlockHeight: 0n,
} as const;

/** Computes a priority fee in lamports: the price of every unit of the limit, used or not, rounded up. */
export function priorityFeeLamports(computeUnitLimit: number | bigint, priceMicroLamports: bigint): bigint {
  return (BigInt(computeUnitLimit) * priceMicroLamports + MICRO_LAMPORTS_PER_LAMPORT - 1n) / MICRO_LAMPORTS_PER_LAMPORT;
}

/**
 * Computes the rent of an account with so many bytes of data, as every cluster asks for it today: two years of 3,480
 * lamports for each byte and for the metadata (Agave, `DEFAULT_LAMPORTS_PER_BYTE_YEAR`). A cluster may ask for less, and
 * none for more.
 */
export function maxRentLamports(bytes: number): bigint {
  return BigInt(BASE_ACCOUNT_SIZE + bytes) * 6_960n;
}

/** Bytes of a lookup table account before its first address (solana-address-lookup-table, `LOOKUP_TABLE_META_SIZE`). */
export const LOOKUP_TABLE_HEADER_BYTES = 56;

/** Computes the bytes of a lookup table account with this number of addresses. */
export function lookupTableBytes(addresses: number): number {
  return LOOKUP_TABLE_HEADER_BYTES + addresses * ADDRESS_BYTES;
}

/** Token-2022 pads a mint with extensions to the bytes of a token account. The byte after them says which one it is. */
export const TOKEN_ACCOUNT_TYPE = { mint: 1, account: 2 } as const;

/** Jito accepts five transactions per bundle (docs.jito.wtf, bundles). */
export const MAX_BUNDLE_TRANSACTIONS = 5;
/** Smallest tip that the block engine considers, in lamports (docs.jito.wtf). */
export const MIN_TIP_LAMPORTS = 1_000n;

/** Path of Jito’s JSON-RPC for bundles; `tip_floor` is below it. */
export const BUNDLES_PATH = '/api/v1/bundles';

/** Computes Jito’s bundle id: lowercase hex SHA-256 of the transactions’ first signatures, in base58, joined by commas. */
export function bundleIdOf(signatures: readonly Signature[]): string {
  return sha256Hex(signatures.join(','));
}

/** Counts the characters of bytes in padded base64. */
export function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3);
}
