import { ApiError, DEFAULT_BATCHES_PAGE_SIZE, isFinalStatus, type OPERATIONS } from '@flywheel/api';
import { executeBatch } from '../../batches/execute.ts';
import type { PreviewDeps } from '../../batches/preview.ts';
import {
  listBatches,
  readApproval,
  readBatch,
  readCurrentBatch,
  readLedger,
  throwDamaged,
} from '../../batches/read.ts';
import { mayHaveRest, readRest } from '../../batches/rest.ts';
import type { BatchWithoutPipelines } from '../../model/batch.ts';
import type { Handlers } from '../operations/handlers.ts';
import {
  appliedPreference,
  parsePreferredWait,
  pendingReply,
  readRestOf,
  replyToCancel,
  replyToInit,
  replyToPreview,
  replyWithEvents,
  type StreamDeps,
} from './batch-replies.ts';
import { pageParams, parseInclude, presentBatch, presentLedger, presentNext, presentPipelines } from './present.ts';

/** API keys see batches of this kind only; withdrawals and rotations belong to the console. */
const KIND = 'pipelines';

/** Handlers of the operations under `/v1`. */
export function createBatchHandlers(deps: PreviewDeps & StreamDeps): Handlers<typeof OPERATIONS> {
  return {
    initBatch: {
      checksBody: ({ project, keyId, keyScopes: scopes }, { headers, body }) =>
        replyToInit(deps, { project, scopes, keyId, idempotencyKey: headers['x-idempotency-key'], body }),
    },

    previewBatch: {
      checksBody: ({ project, keyId, keyScopes: scopes }, { body }) =>
        replyToPreview(deps, { project, scopes, keyId, body }),
    },

    executeBatch: async ({ project, keyId, closing: signal }, { headers, body }) => {
      const preferred = parsePreferredWait(headers.prefer);
      const requested = await executeBatch(
        deps,
        project,
        { ...body, kind: KIND },
        { waitMs: preferred.seconds * 1_000, signal },
      );
      const { id: batchId, status, executeResult } = requested.batch;
      if (!isFinalStatus(status) || executeResult === null) {
        return pendingReply(requested.batch, preferred, locationOf(batchId));
      }
      const rest = await readRestOf(deps, project, requested, { keyId, projectId: project.id }).catch(throwDamaged);
      return {
        status: 200,
        body: { batchId, status, result: executeResult, ...rest },
        headers: appliedPreference(preferred),
      };
    },

    cancelBatch: ({ project, keyId, closing: signal }, { headers: { prefer }, params: { batchId } }) => {
      const reader = { keyId, projectId: project.id };
      return replyToCancel(deps, project, {
        batchId,
        kind: KIND,
        prefer,
        signal,
        location: locationOf(batchId),
        reader,
      });
    },

    listBatches: async ({ project }, { query: { status, ...query } }) => {
      const page = await listBatches(deps, project, {
        status,
        kind: KIND,
        ...pageParams(query, DEFAULT_BATCHES_PAGE_SIZE),
      });
      const batches = page.rows.map((batch) => presentBatch(batch, project));
      const { vault: vaultAddress } = project.flywheel.multisig;
      return { status: 200, body: { batches, ...presentNext(page), vaultAddress } };
    },

    getBatch: async ({ project, keyId, batch: found }, { params: { batchId }, query }) => {
      const batch = requireFound(found, batchId);
      const include = parseInclude(query.include);
      const readAll = <Result>(read: () => Promise<Result>) =>
        deps.work.readPipelines({ keyId, projectId: project.id }, batch.pipelineCount, read);
      const readWhole = () => readBatch(deps, project, batchId, KIND);
      const included = {
        ...(include.pipelines && { pipelines: await presentPipelines(await readAll(readWhole)) }),
        ...(include.ledger && { ledger: presentLedger(await readLedger(deps, batch)) }),
        ...(include.rest && mayHaveRest(batch) && (await readAll(() => readRest(deps, project, batch)))),
        ...(include.approval && { proposalApproveTx: await readApproval(deps, project, batch) }),
      };
      return { status: 200, body: presentBatch(batch, project, included) };
    },

    streamBatchEvents: async ({ project, keyId, batch: found }, { headers, params }) => {
      const batch = requireFound(found, params.batchId);
      return replyWithEvents(deps, {
        batchId: batch.id,
        projectId: project.id,
        holder: keyId,
        lastEventId: headers['last-event-id'],
      });
    },

    getCurrentBatch: async ({ project }) => {
      const batch = await readCurrentBatch(deps, project);
      return { status: 200, body: batch && presentBatch(batch, project) };
    },
  };
}

/** @throws ApiError ERR_BATCH_NOT_FOUND */
function requireFound(batch: BatchWithoutPipelines | null, batchId: string): BatchWithoutPipelines {
  if (!batch) throw new ApiError('ERR_BATCH_NOT_FOUND', { batchId });
  return batch;
}

function locationOf(batchId: string): string {
  return `/v1/flywheel/batch/${batchId}`;
}
