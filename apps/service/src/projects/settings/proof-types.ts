import { ApiError, type ProofType } from '@flywheel/api';
import { findSchemaProblem } from '../../compile/request/payload-schema.ts';

/** @throws ApiError ERR_INVALID_REQUEST for a type that is there twice, or a schema that is none. */
export function requireProofTypes(proofTypes: readonly ProofType[]): void {
  const seen = new Set<string>();
  for (const [i, { type }] of proofTypes.entries()) {
    const place = `body.proofTypes[${i}]`;
    if (seen.has(type)) throw new ApiError('ERR_INVALID_REQUEST', { place, problem: `repeats the type ${type}.` });
    seen.add(type);
  }
  const found = findSchemaProblem(proofTypes);
  if (found === null) return;
  const { position, problem } = found;
  throw new ApiError('ERR_INVALID_REQUEST', { place: `body.proofTypes[${position}].payloadSchema`, problem });
}
