import type { CancelBatchResponse, CompiledPipeline as WirePipeline } from '@flywheel/api';
import { type CancelRequest, cancelBatch } from '../batches/cancel.ts';
import type { Deps } from '../batches/deps.ts';
import { type InitRequest, initBatch } from '../batches/init.ts';
import { type PreviewDeps, previewBatch } from '../batches/preview.ts';
import { buildApproval, readApproval } from '../batches/read.ts';
import { encodeInstruction } from '../compile/instruction-bytes.ts';
import { type Batch, type BatchWithoutPipelines, isFinal } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { type PreferredWait, parsePreferredWait } from './prefer.ts';
import { presentInitializedBatch, presentPreview } from './present.ts';

/** How often it is worth asking for a batch that is being executed. */
const POLL_AFTER_SECONDS = 2;

/** Init, for API keys and the console alike. */
export async function replyToInit(deps: Deps, request: InitRequest) {
  const { project } = request;
  const { batch, warnings, replayed } = await initBatch(deps, request);
  // A batch that has ended needs no approval any more; the answer stays the one that was given.
  const proposalApproveTx =
    (replayed ? await readApproval(deps, project, batch) : null) ?? (await buildApproval(project, batch));
  return {
    status: 200 as const,
    body: presentInitializedBatch(batch, { pipelines: presentPipelines(batch), proposalApproveTx }, warnings),
    ...replayHeaders(replayed),
  };
}

/** Says of an answer that it was given before. */
export function replayHeaders(replayed: boolean) {
  return replayed ? { headers: { 'idempotency-replayed': 'true' } } : {};
}

/** Preview, for both. */
export async function replyToPreview(deps: PreviewDeps, request: Omit<InitRequest, 'idempotencyKey'>) {
  return { status: 200 as const, body: presentPreview(await previewBatch(deps, request), request.project.token) };
}

export interface Cancel extends CancelRequest {
  /** The header of that name. */
  readonly prefer: string | undefined;
  readonly signal: AbortSignal;
  /** Where the batch can be read. */
  readonly location: string;
}

/** Cancel, for both: waits as the request prefers. */
export async function replyToCancel(deps: Deps, project: Project, { prefer, signal, location, ...asked }: Cancel) {
  const preferred = parsePreferredWait(prefer);
  const { batch, cancelTx } = await cancelBatch(deps, project, asked, { waitMs: preferred.seconds * 1_000, signal });
  if (!isFinal(batch.status)) return pendingReply(batch, preferred, location);
  const body: CancelBatchResponse = {
    batchId: batch.id,
    status: batch.status,
    ...(cancelTx !== null && { cancelTx }),
  };
  return { status: 200 as const, body, headers: applied(preferred) };
}

/** Not done yet: where to look, and when. */
export function pendingReply(
  { id: batchId, status }: BatchWithoutPipelines,
  preferred: PreferredWait,
  location: string,
) {
  const headers = { ...applied(preferred), location, 'retry-after': String(POLL_AFTER_SECONDS) };
  return { status: 202 as const, body: { batchId, status }, headers };
}

/** Says which preference was followed (RFC 7240, section 3); nothing where none was given. */
export function applied({ isGiven, seconds }: PreferredWait): { readonly [name: string]: string } {
  return isGiven ? { 'preference-applied': `wait=${seconds}` } : {};
}

/** As an API key may see them: none of them withdraws. */
export function presentPipelines({ pipelines }: Batch): WirePipeline[] {
  return pipelines.map(({ type, payload, actions, instructions }) => ({
    type,
    payload,
    actions: actions.filter((action) => action.action !== 'WITHDRAW' && action.action !== 'ROTATE'),
    instructions: instructions.map(encodeInstruction),
  }));
}
