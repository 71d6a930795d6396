import type { OPERATIONS, CompiledPipeline as WirePipeline } from '@flywheel/api';
import type { Deps } from '../batches/deps.ts';
import { executeBatch } from '../batches/execute.ts';
import { initBatch } from '../batches/init.ts';
import { buildApproval, readApproval, readBatch, readCurrentBatch } from '../batches/read.ts';
import { encodeInstruction } from '../compile/instruction-bytes.ts';
import { type Batch, isFinal } from '../model/batch.ts';
import type { Handlers, Reply } from './handlers.ts';
import { parsePreferredWait } from './prefer.ts';
import { parseInclude, presentBatch, presentInitializedBatch } from './present.ts';

/** How often it is worth asking for a batch that is being executed. */
const POLL_AFTER_SECONDS = 2;

/** The operations under `/v1`. */
export function createBatchHandlers(deps: Deps): Handlers<typeof OPERATIONS> {
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

    executeBatch: async ({ project, closing: signal }, { headers, body }) => {
      const preferred = parsePreferredWait(headers.prefer);
      const batch = await executeBatch(deps, project, body, { waitMs: preferred.seconds * 1_000, signal });
      const { id: batchId, status, executeResult } = batch;
      const applied: Reply['headers'] = preferred.isGiven ? { 'preference-applied': `wait=${preferred.seconds}` } : {};
      if (isFinal(status) && executeResult !== null) {
        return { status: 200, body: { batchId, status, result: executeResult }, headers: applied };
      }
      return {
        status: 202,
        body: { batchId, status },
        headers: { ...applied, location: `/v1/flywheel/batch/${batchId}`, 'retry-after': String(POLL_AFTER_SECONDS) },
      };
    },

    getBatch: async ({ project }, { params, query }) => {
      const batch = await readBatch(deps, project, params.batchId.toLowerCase());
      const include = parseInclude(query.include);
      const included = {
        ...(include.pipelines && { pipelines: presentPipelines(batch) }),
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

function presentPipelines({ pipelines }: Batch): WirePipeline[] {
  return pipelines.map(({ type, payload, actions, instructions }) => ({
    type,
    payload,
    actions,
    instructions: instructions.map(encodeInstruction),
  }));
}
