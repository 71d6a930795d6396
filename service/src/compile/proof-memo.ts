import { createHash } from 'node:crypto';
import type { Pipeline } from '@flywheel/api';

/**
 * The text that proves on chain which proof a pipeline was sent for: `flywheel:v1:<type>:<hash>`, the hash being lowercase
 * hex SHA-256 of the type, one zero byte and the payload exactly as received. Anyone can check it:
 * `printf 'WATCH_AD\0{"adId":"123"}' | sha256sum`.
 */
export function proofMemo(proof: Pick<Pipeline, 'type' | 'payload'>): string {
  return `flywheel:v1:${proof.type}:${proofHash(proof)}`;
}

/** Lowercase hex. */
export function proofHash({ type, payload }: Pick<Pipeline, 'type' | 'payload'>): string {
  // A type has no zero byte, so no two proofs hash the same bytes.
  return createHash('sha256').update(type, 'utf8').update('\0').update(payload, 'utf8').digest('hex');
}
