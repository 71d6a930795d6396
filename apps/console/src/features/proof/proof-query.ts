import { PROOF_OPERATIONS, type ProofCheck } from '@flywheel/api';
import { isMergedIn, parseMergedPayload } from '@flywheel/protocol';
import { proofHash } from '@flywheel/sdk';
import { queryOptions } from '@tanstack/react-query';
import { call } from '../../lib/api/call.ts';

/** The service reads the chain once for each pipeline it finds. */
const CHECK_TIMEOUT_MS = 60_000;

/** An event, or the signature of a transaction. */
export type ProofQuestion = EventQuestion | { readonly signature: string };

export interface EventQuestion {
  readonly type: string;
  readonly payload: string;
  /** The merged payload that paid for the event together with others; undefined if it was paid alone. */
  readonly mergedPayload?: string;
}

/** The place of an event in the merged payload that lists it. */
export interface MergedEvent {
  readonly hash: string;
  /** Number of events in the list. */
  readonly count: number;
}

/** The service’s answer, and the hash as this page computes it. Disabled without a question. */
export function proofQuery(question: ProofQuestion | null) {
  return queryOptions({
    queryKey: ['proof', question],
    enabled: question !== null,
    queryFn: () => ask(question ?? { signature: '' }),
  });
}

interface ProofAnswer {
  readonly check: ProofCheck;
  /** Hash of what the memo on chain covers; null for a question about a signature. */
  readonly ownHash: string | null;
  /** Null for an event that was paid alone. */
  readonly merged: MergedEvent | null;
}

async function ask(question: ProofQuestion): Promise<ProofAnswer> {
  if ('signature' in question) return { check: await checkProof(question), ownHash: null, merged: null };
  const { type, payload, mergedPayload } = question;
  const event = { type, payload };
  if (mergedPayload === undefined) return { check: await checkProof(event), ownHash: proofHash(event), merged: null };
  if (!isMergedIn(event, mergedPayload)) return { check: NOT_LISTED, ownHash: null, merged: null };
  const paid = { type, payload: mergedPayload };
  const count = parseMergedPayload(mergedPayload)?.length ?? 0;
  return { check: await checkProof(paid), ownHash: proofHash(paid), merged: { hash: proofHash(event), count } };
}

function checkProof(body: { readonly type: string; readonly payload: string } | { readonly signature: string }) {
  return call(PROOF_OPERATIONS.checkProof, { body }, { timeoutMs: CHECK_TIMEOUT_MS });
}

const NOT_LISTED: ProofCheck = {
  verdict: 'nothing',
  message: 'The merged payload does not list this event. Every byte of the payload counts, spaces too.',
  pipelines: [],
};
