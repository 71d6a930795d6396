import type { ProvenPipeline } from '@flywheel/api';
import { type Proof, type ProofVerdict, verifyProofOnChain } from '@flywheel/sdk';
import type { ConsoleClient } from '../console-client.ts';

export type ProofQuestion =
  | ({ readonly by: 'event'; readonly signature: string | null; readonly vault: string | null } & Proof)
  | { readonly by: 'signature'; readonly signature: string; readonly vault: string | null };

/** A proof that our own node was seen to hold. */
export interface SeenProof {
  readonly type: string;
  /** Lowercase hex SHA-256. */
  readonly hash: string;
  readonly signature: string;
  readonly vaultAddress: string;
  readonly slot: number | null;
  /** ISO 8601; null when the node does not know it. */
  readonly executedAt: string | null;
}

export interface Verification {
  readonly isProven: boolean;
  /** The verdict as a sentence. */
  readonly message: string;
  readonly proofs: readonly SeenProof[];
  /** True when the vault is not known but from the service. */
  readonly trustsServiceForVault: boolean;
}

export interface VerifyDeps {
  readonly rpcUrl: string;
  /** Says where to look; believed in nothing else. */
  readonly service: Pick<ConsoleClient, 'checkProof'>;
}

/**
 * Looks for a proof on chain, by a node of one’s own. With a signature and a vault nothing else is asked; without, the
 * service says where to look.
 */
export async function verifyProof(deps: VerifyDeps, question: ProofQuestion): Promise<Verification> {
  const { signature, vault } = question;
  if (signature !== null && vault !== null) {
    const verdict = await verifyAt(deps, question, { signature, vaultAddress: vault });
    return { ...conclude([verdict]), trustsServiceForVault: false };
  }
  const check = await deps.service.checkProof(
    question.by === 'event' ? { type: question.type, payload: question.payload } : { signature: question.signature },
  );
  const places = placesOf(check.pipelines, { signature, vault });
  if (places.length === 0) {
    const message = check.verdict === 'proven' ? elsewhere(question) : check.message;
    return { isProven: false, message, proofs: [], trustsServiceForVault: vault === null };
  }
  const verdicts = await Promise.all(places.map((place) => verifyAt(deps, question, place)));
  return { ...conclude(verdicts), trustsServiceForVault: vault === null };
}

interface Place {
  readonly signature: string;
  readonly vaultAddress: string;
}

function placesOf(
  pipelines: readonly ProvenPipeline[],
  { signature, vault }: Pick<ProofQuestion, 'signature' | 'vault'>,
): Place[] {
  const places = new Map<string, Place>();
  for (const pipeline of pipelines) {
    const at = pipeline.signature;
    if (at === undefined || (signature !== null && at !== signature)) continue;
    if (vault !== null && pipeline.vaultAddress !== vault) continue;
    places.set(`${at} ${pipeline.vaultAddress}`, { signature: at, vaultAddress: pipeline.vaultAddress });
  }
  return [...places.values()];
}

function elsewhere({ signature, vault }: ProofQuestion): string {
  const wanted = [
    ...(signature === null ? [] : [`in transaction ${signature}`]),
    ...(vault === null ? [] : [`signed by the vault ${vault}`]),
  ];
  return `Nothing: the service knows this proof, but not ${wanted.join(', ')}.`;
}

interface Verdict {
  readonly problem: string | null;
  readonly proofs: readonly SeenProof[];
}

/** What our own node says of one transaction. */
async function verifyAt({ rpcUrl }: VerifyDeps, question: ProofQuestion, place: Place): Promise<Verdict> {
  const { signature, vaultAddress } = place;
  // Asked for by signature alone, it is enough that the vault proved anything: what, is told.
  const proof = question.by === 'event' ? question : { type: '', payload: '' };
  const verdict = await verifyProofOnChain(rpcUrl, {
    type: proof.type,
    payload: proof.payload,
    signature,
    vault: vaultAddress,
  });
  const proofs = wantedOf(verdict, question).map(({ type, hash }) => ({
    ...{ type, hash, signature, vaultAddress },
    ...{ slot: verdict.slot, executedAt: verdict.executedAt },
  }));
  return proofs.length > 0 ? { problem: null, proofs } : { problem: verdict.problem, proofs };
}

function wantedOf({ found, memo }: ProofVerdict, { by }: ProofQuestion): ProofVerdict['found'] {
  return by === 'signature' ? found : found.filter(({ type, hash }) => memo === `flywheel:v1:${type}:${hash}`);
}

function conclude(verdicts: readonly Verdict[]): Pick<Verification, 'isProven' | 'message' | 'proofs'> {
  const proofs = verdicts.flatMap((verdict) => verdict.proofs);
  const [first] = proofs;
  if (!first) {
    const [problem = 'Nothing was found.'] = verdicts.map((verdict) => verdict.problem ?? '');
    return { isProven: false, message: problem, proofs };
  }
  const what = proofs.length === 1 ? 'this proof' : `${proofs.length} proofs`;
  return {
    isProven: true,
    message: `Proven: transaction ${first.signature} carries ${what}, signed by the vault ${first.vaultAddress}.`,
    proofs,
  };
}
