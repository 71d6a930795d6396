import { PROOF_OPERATIONS, type ProofCheckRequest } from '@flywheel/api';
import { proofHash } from '@flywheel/sdk';
import { queryOptions } from '@tanstack/react-query';
import { call } from '../../lib/api/call.ts';

/** The service reads the chain once for each pipeline it finds. */
const CHECK_TIMEOUT_MS = 60_000;

/** A type and its payload, or the signature of a transaction. */
export type ProofQuestion = ProofCheckRequest;

/** The service’s answer, and the hash as this page computes it. Disabled without a question. */
export function proofQuery(question: ProofQuestion | null) {
  return queryOptions({
    queryKey: ['proof', question],
    enabled: question !== null,
    queryFn: async () => {
      const asked = question ?? { signature: '' };
      const [check, ownHash] = await Promise.all([
        call(PROOF_OPERATIONS.checkProof, { body: asked }, { timeoutMs: CHECK_TIMEOUT_MS }),
        'type' in asked ? proofHash(asked) : null,
      ]);
      return { check, ownHash };
    },
  });
}
