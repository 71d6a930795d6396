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
import { readNewTokenAccounts } from './policy/at-init.ts';
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
 * transaction. The `setup` job creates the batch on chain later, in the order of the indices. Only a rule about new token
 * accounts makes a network call necessary, which is made beside the checks, and ends before the transaction.
 * @throws ApiError for an invalid request, and those of `createBatchIdempotently`.
 */
export async function initBatch(deps: InitDeps, request: InitRequest): Promise<CreatedBatch> {
  const { project, scopes, keyId, idempotencyKey, body, actor } = request;
  const key = { project, kind: 'pipelines', idempotencyKey, requestHash: hashRequest(body) } as const;
  const { earlier, halt, limitsTokenAccounts } = await findBeginning(deps.db, key);
  if (earlier) return earlier;
  requireServed(deps, project);
  requireNoHalt(halt);

  const { pipelines: requested } = parseInitRequest(body);
  await answerOthers();
  checkPipelines(requested, { ...project, scopes });
  // Compiled first, so that the chain is asked beside the threads and the database. Errors have the order of the awaits.
  const compiling = begin(compilePipelines(requested, project));
  const reading = begin(
    compiling.then((pipelines) => (limitsTokenAccounts ? readNewTokenAccounts(deps, project, pipelines) : null)),
  );
  await checkPayloads(deps, project, requested);
  await requireRecipients(deps, project, requested);
  const pipelines = await compiling;
  const newTokenAccounts = await reading;

  const audit = actor === undefined ? null : ({ actor, action: 'batch.initialized' } as const);
  return createBatchIdempotently(deps, key, { keyId, pipelines, newTokenAccounts, audit });
}

/** Begins work that is awaited later: its error is thrown there, or not at all if another one is thrown before. */
function begin<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  return work;
}
