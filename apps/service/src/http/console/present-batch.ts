import { type BatchDetail, type BatchProgress, type BatchRow, type BundleRecord, isFinalStatus } from '@flywheel/api';
import { encodeInstruction, MAX_PIPELINE_BYTES, proofMemo, toDecimal } from '@flywheel/protocol';
import { type BatchDetails, signaturesByPipeline } from '../../batches/details/details.ts';
import { describeFailure, type Failure } from '../../batches/details/failure.ts';
import type { ListItem } from '../../batches/details/list.ts';
import { buildTimeline, type Step } from '../../batches/details/timeline.ts';
import { type CompiledPipeline, expiresAtOf } from '../../model/batch.ts';
import type { Project, Token } from '../../model/project.ts';
import { presentBatch, presentLedger } from '../batches/present.ts';

/** Presents a batch as a row of a list. */
export function presentRow(batch: ListItem, { token: { decimals } }: Decimals): BatchRow {
  return {
    id: batch.id,
    kind: batch.kind,
    batchIndex: String(batch.batchIndex),
    status: batch.status,
    ...(batch.endCause !== null && { endCause: batch.endCause }),
    waitsFor: batch.waitsFor,
    pipelines: batch.pipelineCount,
    types: [...batch.types],
    actions: batch.actions,
    burned: toDecimal(batch.burnBaseUnits, decimals),
    airdropped: toDecimal(batch.airdropBaseUnits, decimals),
    ...(batch.withdrawal && { withdrawal: batch.withdrawal }),
    executedPipelines: batch.executedPipelines,
    operatorLamports: String(batch.operatorLamports),
    lockedLamports: String(batch.lockedLamports),
    ...(batch.problem !== null && { problem: batch.problem }),
    dateCreated: batch.createdAt.toISOString(),
    dateUpdated: batch.updatedAt.toISOString(),
    ...(batch.endedAt && { dateEnded: batch.endedAt.toISOString() }),
  };
}

interface Decimals {
  readonly token: Pick<Token, 'decimals'>;
}

/** Presents everything about a batch that changes over time. */
export function presentProgress(
  details: BatchDetails,
  project: Project,
  rules: { readonly batchExpirySeconds: number },
): BatchProgress {
  const { record, bundles, ledger, executed } = details;
  const failure = describeFailure(details, project);
  return {
    batch: presentBatch(record, project, { ledger: presentLedger(ledger) }),
    projectId: record.projectId,
    kind: record.kind,
    waitsFor: record.waitsFor,
    timeline: buildTimeline(details, project).map(presentStep),
    bundles: bundles.map(presentBundle),
    executedPipelines: executed,
    ...(failure && { failure: presentFailure(failure) }),
    ...(!isFinalStatus(record.status) && { expiresAt: expiresAtOf(record, rules).toISOString() }),
  };
}

/** Presents a batch's pipelines, each with its state. */
export function presentPipelineRecords(
  pipelines: readonly CompiledPipeline[],
  { record, bundles, executed }: BatchDetails,
): BatchDetail['pipelines'] {
  const signatures = signaturesByPipeline(bundles);
  const failed = record.executeResult?.failedOnTransactionIndex;
  const left = isFinalStatus(record.status) ? 'skipped' : 'waiting';
  return pipelines.map((pipeline, position) => {
    const signature = signatures.get(position);
    return {
      type: pipeline.type,
      payload: pipeline.payload,
      actions: [...pipeline.actions],
      instructions: pipeline.instructions.map(encodeInstruction),
      memo: proofMemo(pipeline),
      state: position < executed ? 'executed' : position === failed ? 'failed' : left,
      ...(signature !== undefined && { signature }),
      bytes: pipeline.vaultMessage.length,
      maxBytes: MAX_PIPELINE_BYTES,
    };
  });
}

function presentStep({ step, state, at, note, signatures }: Step): BatchProgress['timeline'][number] {
  return {
    step,
    state,
    ...(at && { at: at.toISOString() }),
    ...(note !== null && { note }),
    signatures: [...signatures],
  };
}

function presentBundle(bundle: BatchDetails['bundles'][number]): BundleRecord {
  return {
    bundleId: bundle.bundleId,
    phase: bundle.phase,
    state: bundle.state,
    isAtomic: bundle.isAtomic,
    signatures: [...bundle.signatures],
    landedSignatures: [...bundle.landedSignatures],
    firstPipeline: bundle.firstPipeline,
    pipelineCounts: [...bundle.pipelineCounts],
    tipLamports: String(bundle.tipLamports),
    sentAt: bundle.sentAt.toISOString(),
    ...(bundle.settledAt && { settledAt: bundle.settledAt.toISOString() }),
  };
}

function presentFailure(failure: Failure): NonNullable<BatchProgress['failure']> {
  const { message, chainError, remedy, code, pipeline, isFinal } = failure;
  return {
    message,
    ...(chainError !== null && { chainError }),
    remedy,
    ...(code !== null && { code }),
    ...(pipeline !== null && { pipeline }),
    isFinal,
  };
}
