import { MAX_PAYLOAD_BYTES } from './schemas.ts';

/** Rest of a sentence that begins with the place of a text. Proofs and memos are hashed and stored as UTF-8. */
export const HALF_SURROGATE_ISSUE = 'holds half of a surrogate pair, which UTF-8 cannot express.';

/**
 * Finds what is wrong with a pipeline's payload, which must be the text of one JSON object of at most 64 KiB (decision 16).
 * @returns the rest of a sentence that begins with the payload's place; null if nothing is wrong.
 */
export function findPayloadIssue(payload: string): string | null {
  const { length } = new TextEncoder().encode(payload);
  if (length > MAX_PAYLOAD_BYTES) return `must have at most ${MAX_PAYLOAD_BYTES} bytes, not ${length}.`;
  if (!payload.isWellFormed()) return HALF_SURROGATE_ISSUE;
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch (cause) {
    return `is not the text of a JSON object (${cause instanceof Error ? cause.message : String(cause)}).`;
  }
  if (typeof value !== 'object') return `must be the text of one JSON object, not of a ${typeof value}.`;
  if (value === null) return 'must be the text of one JSON object, not of null.';
  return Array.isArray(value) ? 'must be the text of one JSON object, not of an array.' : null;
}
