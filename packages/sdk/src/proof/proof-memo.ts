/** What a proof memo vouches for: a pipeline’s type and payload, the payload exactly as it was sent. */
export interface Proof {
  readonly type: string;
  readonly payload: string;
}

/** What a proof memo says. */
export interface ProofMemo {
  readonly type: string;
  /** Lowercase hex SHA-256. */
  readonly hash: string;
}

const PROOF_MEMO = /^flywheel:v1:([A-Za-z0-9_-]{1,64}):([0-9a-f]{64})$/;

/**
 * The memo that the vault writes on chain before a pipeline’s actions: `flywheel:v1:<type>:<hash>`.
 *
 * @example
 * await proofMemo({ type: 'WATCH_AD', payload: '{"adId":"123"}' });
 */
export async function proofMemo(proof: Proof): Promise<string> {
  return `flywheel:v1:${proof.type}:${await proofHash(proof)}`;
}

/**
 * Lowercase hex SHA-256 of the type, one zero byte and the payload, in UTF-8:
 * `printf 'WATCH_AD\0{"adId":"123"}' | sha256sum`.
 */
export async function proofHash({ type, payload }: Proof): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`${type}\0${payload}`));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Reads a memo’s text; null when it is no proof memo. */
export function parseProofMemo(text: string): ProofMemo | null {
  const match = PROOF_MEMO.exec(text);
  const [, type, hash] = match ?? [];
  return type === undefined || hash === undefined ? null : { type, hash };
}
