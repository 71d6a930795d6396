import { parseProofMemo, proofHash, proofMemo } from './proof-memo.ts';
import { verifyProofOnChain } from './verify-proof-on-chain.ts';

/**
 * Everything about proofs in one place; each function is exported by its own name as well, for bundles that need one.
 *
 * @example
 * await proof.hash({ type: 'WATCH_AD', payload: '{"adId":"123"}' });
 * await proof.verifyOnChain(rpcUrl, { type, payload, signature, vault });
 */
export const proof = {
  hash: proofHash,
  memo: proofMemo,
  parseMemo: parseProofMemo,
  verifyOnChain: verifyProofOnChain,
} as const;
