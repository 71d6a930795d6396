export type {
  Action,
  Batch,
  BatchEvent,
  BatchEventType,
  BatchList,
  BatchStatus,
  BundleExecution,
  CancelBatchResponse,
  CompiledPipeline,
  ErrorCode,
  ExecuteBatchPending,
  ExecuteBatchRequest,
  ExecuteBatchResponse,
  ExecuteResult,
  ExecutionError,
  InitBatchRequest,
  InitBatchResponse,
  InitResult,
  InitWarning,
  Ledger,
  Pipeline,
  PreviewBatchResponse,
  WebhookEvent,
} from '@flywheel/api';
export * from './amounts.ts';
export { TOKEN_2022_PROGRAM } from './chain/programs.ts';
export * from './chain/read-mint.ts';
export * from './chain/read-vault-memos.ts';
export * from './client.ts';
export * from './errors.ts';
export * from './follow-batch.ts';
export * from './idempotency-key-of.ts';
export type { Difference } from './look/compare-batch.ts';
export { type Approval, type ApprovalStep, approvalFee } from './look/decode-approval.ts';
export * from './look/look-before-sign.ts';
export * from './look/sign-after-look.ts';
export * from './pipelines/actions.ts';
export * from './pipelines/pack-actions.ts';
export * from './pipelines/pipeline-size.ts';
export * from './proof/proof.ts';
export * from './proof/proof-memo.ts';
export * from './proof/verify-proof-on-chain.ts';
export * from './run-batch.ts';
export * from './signing/byte-signer.ts';
export * from './signing/sign-approval.ts';
export * from './signing/sign-transaction.ts';
export * from './signing/wallet-standard-signer.ts';
export type { Retry } from './wire/repeat.ts';
export { type Connection, type RequestParts, type SendOptions, sendRequest } from './wire/request.ts';
