import { ApiError, type ProofType } from '@flywheel/api';
import { payloadSchemaProblem } from '../../compile/request/payload-schema.ts';

/** @throws ApiError ERR_INVALID_REQUEST for a type that is there twice, or a schema that is none. */
export function requireProofTypes(proofTypes: readonly ProofType[]): void {
  const seen = new Set<string>();
  for (const [i, { type, payloadSchema }] of proofTypes.entries()) {
    const place = `body.proofTypes[${i}]`;
    if (seen.has(type)) throw new ApiError('ERR_INVALID_REQUEST', { place, problem: `repeats the type ${type}.` });
    seen.add(type);
    const problem = payloadSchema === undefined ? null : payloadSchemaProblem(payloadSchema);
    if (problem !== null) throw new ApiError('ERR_INVALID_REQUEST', { place: `${place}.payloadSchema`, problem });
  }
}
