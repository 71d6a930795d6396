import { ApiError, type BATCH_OPERATIONS } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { readBatchDetails } from '../../batches/details/details.ts';
import { listBatchItems } from '../../batches/details/list.ts';
import { executeBatch } from '../../batches/execute.ts';
import { readApproval, readBatch, readBatchWithoutPipelines } from '../../batches/read.ts';
import type { Project } from '../../model/project.ts';
import { requireOwnProject, requireVisibleProject } from '../../projects/access.ts';
import { replyToCancel, replyToInit, replyToPreview, replyWithEvents } from '../batches/batch-replies.ts';
import { pageParams, presentNext } from '../batches/present.ts';
import type { Handlers } from '../operations/handlers.ts';
import type { ConsoleDeps } from './deps.ts';
import { presentPipelineRecords, presentProgress, presentRow } from './present-batch.ts';

/** Handlers of the operations on a project's batches, for the wallet that is signed in. */
export function createProjectBatchHandlers(deps: ConsoleDeps): Handlers<typeof BATCH_OPERATIONS> {
  const own = (wallet: Address, { projectId }: ProjectParams) => requireOwnProject(deps, wallet, projectId);
  const visible = (wallet: Address, { projectId }: ProjectParams) => requireVisibleProject(deps, wallet, projectId);
  const progress = async (project: Project, batchId: string) =>
    presentProgress(await readBatchDetails(deps, project, batchId), project, deps);
  return {
    listProjectBatches: async ({ wallet }, { params, query }) => {
      const project = await visible(wallet, params);
      const { status, waitsFor, batchId, ...rest } = query;
      const batchIndex = rest.batchIndex === undefined ? undefined : BigInt(rest.batchIndex);
      const page = await listBatchItems(deps, project, { status, waitsFor, batchIndex, batchId, ...pageParams(rest) });
      const batches = page.rows.map((batch) => presentRow(batch, project));
      return { status: 200, body: { batches, ...presentNext(page) } };
    },

    getProjectBatch: async ({ wallet }, { params }) => {
      const project = await visible(wallet, params);
      const details = await readBatchDetails(deps, project, params.batchId);
      const { pipelines } = await deps.work.readPipelines({ wallet }, details.record.pipelineCount, () =>
        readBatch(deps, project, params.batchId),
      );
      const body = {
        ...presentProgress(details, project, deps),
        pipelines: presentPipelineRecords(pipelines, details),
      };
      return { status: 200, body };
    },

    getBatchProgress: async ({ wallet }, { params }) => ({
      status: 200,
      body: await progress(await visible(wallet, params), params.batchId),
    }),

    streamProjectBatchEvents: async ({ wallet }, { params, headers }) => {
      const project = await visible(wallet, params);
      const batch = await readBatchWithoutPipelines(deps, project, params.batchId);
      return replyWithEvents(deps, {
        batchId: batch.id,
        projectId: project.id,
        holder: wallet,
        lastEventId: headers['last-event-id'],
      });
    },

    initProjectBatch: {
      checksBody: async ({ wallet: actor }, { params, headers, body }) => {
        const project = await own(actor, params);
        const { scopes } = project;
        const idempotencyKey = headers['x-idempotency-key'];
        return replyToInit(deps, { project, scopes, keyId: null, idempotencyKey, body, actor });
      },
    },

    previewProjectBatch: {
      checksBody: async ({ wallet }, { params, body }) => {
        const project = await own(wallet, params);
        return replyToPreview(deps, { project, scopes: project.scopes, keyId: null, body });
      },
    },

    getApproval: async ({ wallet }, { params }) => {
      const { batchId } = params;
      const project = await visible(wallet, params);
      const batch = await readBatchWithoutPipelines(deps, project, batchId);
      const proposalApproveTx = await readApproval(deps, project, batch);
      if (proposalApproveTx === null) {
        throw new ApiError('ERR_BATCH_NOT_EXECUTABLE', { batchId, reason: `it has ended ${batch.status}.` });
      }
      return { status: 200, body: { proposalApproveTx } };
    },

    executeProjectBatch: async ({ wallet: actor, closing: signal }, { params, body: { signedTx } }) => {
      const project = await own(actor, params);
      const { batchId } = params;
      await executeBatch(deps, project, { batchId, signedTx, actor }, { waitMs: 0, signal });
      return { status: 200, body: await progress(project, batchId) };
    },

    cancelProjectBatch: async ({ wallet: actor, closing: signal }, { params, headers: { prefer } }) => {
      const project = await own(actor, params);
      const { batchId } = params;
      const location = `/console/api/projects/${project.id}/batches/${batchId}`;
      return replyToCancel(deps, project, { batchId, actor, prefer, signal, location, reader: { wallet: actor } });
    },
  };
}

interface ProjectParams {
  readonly projectId: string;
}
