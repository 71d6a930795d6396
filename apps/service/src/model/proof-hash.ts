import { createHash } from 'node:crypto';
import type { Pipeline } from '@flywheel/api';

/**
 * What a proof memo carries: lowercase hex SHA-256 of the type, one zero byte and the payload exactly as received. A type
 * has no zero byte, so no two proofs hash the same bytes.
 */
export function proofHash({ type, payload }: Pick<Pipeline, 'type' | 'payload'>): string {
  return createHash('sha256').update(type, 'utf8').update('\0').update(payload, 'utf8').digest('hex');
}
