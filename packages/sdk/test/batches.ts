import type { Batch, InitBatchResponse, Pipeline } from '@flywheel/api';

export const BATCH_ID = '0198a3c2-7d1e-7c3a-9b1f-2f6f0c6d1e2a';

export const PIPELINES: Pipeline[] = [
  { type: 'WATCH_AD', payload: '{"adId":"123"}', actions: [{ action: 'BURN', amount: 1.5 }] },
];

export const BATCH: Batch = {
  id: BATCH_ID,
  flywheelId: 'fw-1',
  tokenId: 'tk-1',
  mintAddress: 'So11111111111111111111111111111111111111112',
  status: 'AVAILABLE_TO_QUEUE',
  batchIndex: '1',
  vaultIndex: '0',
  multisig: 'SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf',
  vaultAddress: 'SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf',
  dateCreated: '2026-11-18T14:02:11.000Z',
  dateUpdated: '2026-11-18T14:02:11.000Z',
};

/** Init's answer, which asks for a signature of `proposalApproveTx`. */
export function initAnswer(proposalApproveTx: string): InitBatchResponse {
  const pipelines = PIPELINES.map((pipeline) => ({ ...pipeline, instructions: [] }));
  const { id, flywheelId, status, dateCreated } = BATCH;
  return { proposalApproveTx, batch: { id, flywheelId, status, pipelines, dateCreated } };
}
