import type { Pipeline } from '@flywheel/api';
import { proofHash } from '../model/proof-hash.ts';

/**
 * The text that proves on chain which proof a pipeline was sent for: `flywheel:v1:<type>:<hash>`, the hash being lowercase
 * hex SHA-256 of the type, one zero byte and the payload exactly as received. Anyone can check it:
 * `printf 'WATCH_AD\0{"adId":"123"}' | sha256sum`.
 */
export function proofMemo(proof: Pick<Pipeline, 'type' | 'payload'>): string {
  return `flywheel:v1:${proof.type}:${proofHash(proof)}`;
}
