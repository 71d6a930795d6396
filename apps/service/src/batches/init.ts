import type { Scope } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { compilePipelines } from '../compile/compile-pipeline.ts';
import { checkPipelines } from '../compile/request/check-pipelines.ts';
import { parseInitRequest } from '../compile/request/parse-request.ts';
import { answerOthers } from '../model/in-slices.ts';
import type { Project } from '../model/project.ts';
import { checkPayloads, type SchemaDeps } from '../payload-schemas/check.ts';
import { requireNoHalt, requireServed } from './admission.ts';
import { type CreatedBatch, createBatchIdempotently, findBeginning, hashRequest } from './create-batch.ts';
import type { Deps } from './deps.ts';
import { requireRecipients } from './recipients.ts';

export type InitDeps = Deps & SchemaDeps;

export interface InitRequest {
  readonly project: Project;
  /** Scopes of the API key. They may be fewer than the project's. */
  readonly scopes: ReadonlySet<Scope>;
  /** The API key that asks; null for the console. */
  readonly keyId: string | null;
  /** Lowercase. */
  readonly idempotencyKey: string;
  /** The JSON body, not validated yet. */
  readonly body: unknown;
  /** The signed-in wallet, for the audit log; absent for API keys. */
  readonly actor?: Address;
}

/**
 * Compiles pipelines and stores them as a batch. Its index, nonce and daily amounts are taken in the same database
 * transaction. The `setup` job creates the batch on chain later, in the order of the indices. The chain is asked only
 * if a day's cap for new token accounts has no room for all recipients of the batch.
 * @throws ApiError for an invalid request, and those of `createBatchIdempotently`.
 */
export async function initBatch(deps: InitDeps, request: InitRequest): Promise<CreatedBatch> {
  const { project, scopes, keyId, idempotencyKey, body, actor } = request;
  const key = { project, kind: 'pipelines', idempotencyKey, requestHash: hashRequest(body) } as const;
  const { earlier, halt, hasRules, proofTypes } = await findBeginning(deps.db, key);
  if (earlier) return earlier;
  requireServed(deps, project);
  requireNoHalt(halt);

  const { pipelines: requested } = parseInitRequest(body);
  await answerOthers();
  await checkPipelines(requested, { ...project, scopes, proofTypes });
  await checkPayloads(deps, { ...project, proofTypes }, requested);
  await requireRecipients(deps, project, requested);
  const pipelines = await compilePipelines(requested, project);

  const audit = actor === undefined ? null : ({ actor, action: 'batch.initialized' } as const);
  return createBatchIdempotently(deps, key, { keyId, pipelines, hasRules, audit });
}
