import { sha256Hex } from './sha256.ts';

/** What happened: a pipeline's type and its payload, the payload exactly as it was sent. */
export interface Proof {
  readonly type: string;
  readonly payload: string;
}

/** The content of a proof memo. */
export interface ProofMemo {
  readonly type: string;
  /** SHA-256 of the proof, 64 lowercase hex digits. */
  readonly hash: string;
}

/** Proof type of withdrawals from a vault; its payload is `{"asset","to","amount"}`. */
export const WITHDRAWAL_TYPE = 'WITHDRAW';

/** Proof type in the record of a rotation, which replaces a member of the multisig. */
export const ROTATION_TYPE = 'ROTATE';

/**
 * Returns a sentence if a project may not use a type because the service's own batches have it, otherwise null. An audit
 * would take an airdrop of type `WITHDRAW` for a withdrawal.
 */
export function findReservedTypeIssue(type: string): string | null {
  const isReserved = type === WITHDRAWAL_TYPE || type === ROTATION_TYPE;
  return isReserved ? `${type} is reserved for the service’s own batches; choose another type.` : null;
}

/**
 * Writes the memo that proves a pipeline on chain: `flywheel:v1:<type>:<hash>`. The vault signs it before the
 * pipeline's actions. Anyone can check the hash: `printf 'WATCH_AD\0{"adId":"123"}' | sha256sum`.
 *
 * @example
 * proofMemo({ type: 'WATCH_AD', payload: '{"adId":"123"}' });
 */
export function proofMemo(proof: Proof): string {
  return formatProofMemo({ type: proof.type, hash: proofHash(proof) });
}

/**
 * Hashes a proof: lowercase hex SHA-256 of the type, one zero byte and the payload, all in UTF-8. A type contains no
 * zero byte, so two different proofs never hash the same bytes.
 *
 * @example
 * proofHash({ type: 'WATCH_AD', payload: '{"adId":"123"}' });
 */
export function proofHash({ type, payload }: Proof): string {
  return sha256Hex(`${type}\0${payload}`);
}

/** Writes the memo's text for a hash that is already known. */
export function formatProofMemo({ type, hash }: ProofMemo): string {
  return `${PROOF_MEMO_PREFIX}${type}:${hash}`;
}

/** Reads a memo's text; null if it is not a proof memo. */
export function parseProofMemo(text: string): ProofMemo | null {
  const [, type, hash] = PROOF_MEMO.exec(text) ?? [];
  return type === undefined || hash === undefined ? null : { type, hash };
}

/** True if a text begins like a proof memo of any version. A MEMO action may not: people would read it as a proof. */
export function isReservedMemo(text: string): boolean {
  return text.startsWith(RESERVED_PREFIX);
}

/** Length of a proof memo for a type, in UTF-8 bytes. The payload adds nothing, because its hash has a fixed length. */
export function proofMemoBytes(type: string): number {
  return new TextEncoder().encode(`${PROOF_MEMO_PREFIX}${type}:`).length + HASH_DIGITS;
}

const RESERVED_PREFIX = 'flywheel:';
const PROOF_MEMO_PREFIX = `${RESERVED_PREFIX}v1:`;
const HASH_DIGITS = 64;

// The wire allows only A-Z a-z 0-9 _ - in a type. The reader takes any type, so that it also finds the proofs of
// pipelines that the wire did not carry.
const PROOF_MEMO = /^flywheel:v1:(.+):([0-9a-f]{64})$/s;
