import type { OPERATIONS, CompiledPipeline as WirePipeline } from '@flywheel/api';
import { cancelBatch } from '../batches/cancel.ts';
import { executeBatch } from '../batches/execute.ts';
import { initBatch } from '../batches/init.ts';
import { type PreviewDeps, previewBatch } from '../batches/preview/preview-batch.ts';
import {
  buildApproval,
  listBatches,
  readApproval,
  readBatch,
  readBatchWithoutPipelines,
  readCurrentBatch,
  readLedger,
} from '../batches/read.ts';
import { encodeInstruction } from '../compile/instruction-bytes.ts';
import { type Batch, type BatchWithoutPipelines, isFinal } from '../model/batch.ts';
import type { Handlers } from './handlers.ts';
import { type PreferredWait, parsePreferredWait } from './prefer.ts';
import { parseInclude, presentBatch, presentInitializedBatch, presentLedger, presentPreview } from './present.ts';

/** How often it is worth asking for a batch that is being executed. */
const POLL_AFTER_SECONDS = 2;
const DEFAULT_PAGE = 20;

/** The operations under `/v1`. */
export function createBatchHandlers(deps: PreviewDeps): Handlers<typeof OPERATIONS> {
  return {
    initBatch: {
      checksBody: async ({ project, keyScopes: scopes }, { headers, body }) => {
        const idempotencyKey = headers['x-idempotency-key'].toLowerCase();
        const { batch, warnings, replayed } = await initBatch(deps, { project, scopes, idempotencyKey, body });
        // A batch that has ended needs no approval any more; the answer stays the one that was given.
        const proposalApproveTx =
          (replayed ? await readApproval(deps, project, batch) : null) ?? (await buildApproval(project, batch));
        return {
          status: 200,
          body: presentInitializedBatch(batch, { pipelines: presentPipelines(batch), proposalApproveTx }, warnings),
          ...(replayed && { headers: { 'idempotency-replayed': 'true' } }),
        };
      },
    },

    previewBatch: {
      checksBody: async ({ project, keyScopes: scopes }, { body }) => ({
        status: 200,
        body: presentPreview(await previewBatch(deps, { project, scopes, body }), project.token),
      }),
    },

    executeBatch: async ({ project, closing: signal }, { headers, body }) => {
      const preferred = parsePreferredWait(headers.prefer);
      const batch = await executeBatch(deps, project, body, { waitMs: preferred.seconds * 1_000, signal });
      const { id: batchId, status, executeResult } = batch;
      if (!isFinal(status) || executeResult === null) return pending(batch, preferred);
      return { status: 200, body: { batchId, status, result: executeResult }, headers: applied(preferred) };
    },

    cancelBatch: async ({ project, closing: signal }, { headers, params }) => {
      const batchId = params.batchId.toLowerCase();
      const preferred = parsePreferredWait(headers.prefer);
      const { batch, cancelTx } = await cancelBatch(deps, project, batchId, {
        waitMs: preferred.seconds * 1_000,
        signal,
      });
      if (!isFinal(batch.status)) return pending(batch, preferred);
      const body = { batchId, status: batch.status, ...(cancelTx !== null && { cancelTx }) };
      return { status: 200, body, headers: applied(preferred) };
    },

    listBatches: async ({ project }, { query: { status, cursor, limit } }) => {
      const page = await listBatches(deps, project, { status, cursor, limit: Number(limit ?? DEFAULT_PAGE) });
      const batches = page.batches.map((batch) => presentBatch(batch, project));
      return { status: 200, body: { batches, ...(page.nextCursor !== null && { nextCursor: page.nextCursor }) } };
    },

    getBatch: async ({ project }, { params, query }) => {
      const batchId = params.batchId.toLowerCase();
      const batch = await readBatchWithoutPipelines(deps, project, batchId);
      const include = parseInclude(query.include);
      const included = {
        ...(include.pipelines && { pipelines: presentPipelines(await readBatch(deps, project, batchId)) }),
        ...(include.ledger && { ledger: presentLedger(await readLedger(deps, batch)) }),
        ...(include.approval && { proposalApproveTx: await readApproval(deps, project, batch) }),
      };
      return { status: 200, body: presentBatch(batch, project, included) };
    },

    getCurrentBatch: async ({ project }) => {
      const batch = await readCurrentBatch(deps, project);
      return { status: 200, body: batch && presentBatch(batch, project) };
    },
  };
}

/** Not done yet: where to look, and when. */
function pending({ id: batchId, status }: BatchWithoutPipelines, preferred: PreferredWait) {
  const location = `/v1/flywheel/batch/${batchId}`;
  const headers = { ...applied(preferred), location, 'retry-after': String(POLL_AFTER_SECONDS) };
  return { status: 202 as const, body: { batchId, status }, headers };
}

function applied({ isGiven, seconds }: PreferredWait): { readonly [name: string]: string } {
  return isGiven ? { 'preference-applied': `wait=${seconds}` } : {};
}

function presentPipelines({ pipelines }: Batch): WirePipeline[] {
  return pipelines.map(({ type, payload, actions, instructions }) => ({
    type,
    payload,
    actions,
    instructions: instructions.map(encodeInstruction),
  }));
}
