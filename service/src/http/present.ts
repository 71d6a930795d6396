import type {
  CompiledPipeline,
  ExecutionError,
  InitBatchResponse,
  InitWarning,
  Batch as WireBatch,
} from '@flywheel/api';
import { troubleError } from '../batches/execute.ts';
import type { BatchWithoutPipelines, ExecutionTrouble } from '../model/batch.ts';
import type { Project } from '../model/project.ts';

/** What a caller may ask for beside a batch's own fields. */
export interface Included {
  /** With their instructions encoded. */
  readonly pipelines?: readonly CompiledPipeline[];
  /** null once the batch has ended: the field is then absent. */
  readonly proposalApproveTx?: string | null;
}

/** A batch as the status endpoints answer it. */
export function presentBatch(batch: BatchWithoutPipelines, project: Project, included: Included = {}): WireBatch {
  const { multisig } = project.flywheel;
  return {
    id: batch.id,
    flywheelId: batch.flywheelId,
    tokenId: batch.tokenId,
    mintAddress: project.token.mint,
    status: batch.status,
    batchIndex: batch.batchIndex.toString(),
    vaultIndex: multisig.vaultIndex.toString(),
    multisig: multisig.address,
    vaultAddress: multisig.vault,
    ...(batch.initResult && { initResult: batch.initResult }),
    ...(batch.executeResult && { executeResult: batch.executeResult }),
    ...(batch.executionError && { executionError: presentTrouble(batch.executionError) }),
    dateCreated: batch.createdAt.toISOString(),
    dateUpdated: batch.updatedAt.toISOString(),
    ...(included.pipelines && { pipelines: [...included.pipelines] }),
    ...(included.proposalApproveTx && { proposalApproveTx: included.proposalApproveTx }),
  };
}

/** A batch as init answers it, with the approval to sign. */
export function presentInitializedBatch(
  batch: BatchWithoutPipelines,
  {
    pipelines,
    proposalApproveTx,
  }: { readonly pipelines: readonly CompiledPipeline[]; readonly proposalApproveTx: string },
  warnings: readonly InitWarning[],
): InitBatchResponse {
  return {
    proposalApproveTx,
    batch: {
      id: batch.id,
      flywheelId: batch.flywheelId,
      // Init answers what it made: a replay is the same answer, however far the batch has come since.
      status: 'AVAILABLE_TO_QUEUE',
      pipelines: [...pipelines],
      dateCreated: batch.createdAt.toISOString(),
    },
    ...(warnings.length > 0 && { warnings: [...warnings] }),
  };
}

/** What `?include=` names; the schema has checked its words. */
export function parseInclude(include: string | undefined): { readonly pipelines: boolean; readonly approval: boolean } {
  const words = new Set(include?.split(','));
  return { pipelines: words.has('pipelines'), approval: words.has('approval') };
}

function presentTrouble(trouble: ExecutionTrouble): ExecutionError {
  const { code, message } = troubleError(trouble);
  return { code, message };
}
