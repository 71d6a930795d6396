import { PROOF_OPERATIONS, type ProofCheckRequest } from '@flywheel/api';
import { proofHash } from '@flywheel/sdk';
import { queryOptions } from '@tanstack/react-query';
import { call } from '../../lib/api/call.ts';

/** Reads the chain, which is asked for each pipeline found. */
const CHECK_TIMEOUT_MS = 60_000;

/** What is to be checked: a type and its payload, or a transaction’s signature. */
export type ProofQuestion = ProofCheckRequest;

/** What the service answers, and the hash as this page reckons it by itself. */
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
