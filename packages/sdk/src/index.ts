import type { Address } from '@solana/kit';
import { TOKEN_2022_PROGRAM_ADDRESS as TOKEN_2022 } from '@solana-program/token-2022';

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
  Problem,
  ReachedCap,
  RecipientFailure,
  WebhookEvent,
} from '@flywheel/api';
export {
  decimalOf,
  MAX_PIPELINE_BYTES,
  MAX_PIPELINE_INSTRUCTIONS,
  type Proof,
  type ProofMemo,
  type PublishedSuccession,
  parseMergedPayload,
  parseProofMemo,
  proofHash,
  proofMemo,
  toBaseUnits,
  toDecimal,
} from '@flywheel/protocol';
export type { RpcUrl } from '@flywheel/solana-rpc';
export * from './approve-batch.ts';
export * from './audit/index.ts';
export * from './chain/read-mint.ts';
export * from './chain/read-vault-proofs.ts';
export { readGenesisHash } from './chain/rpc.ts';
export * from './client.ts';
export {
  type ClientErrorCode,
  FlywheelError,
  type FlywheelErrorCode,
  type FlywheelErrorDetails,
  isErrorCode,
  isFlywheelError,
} from './errors.ts';
export type { BatchProgress, FollowOptions, VerifyOptions } from './follow-batch.ts';
export * from './idempotency-keys.ts';
export * from './pins.ts';
export * from './pipeline-size.ts';
export * from './pipelines.ts';
export * from './proof.ts';
export * from './run-batch.ts';
export { type Approval, type ApprovalStep, approvalFee } from './signing/approval.ts';
export * from './signing/cast-cancel.ts';
export { type ApprovalSigner, type ProposalToApprove, signApproval } from './signing/sign.ts';
export * from './signing/signers.ts';
export type { Mismatch } from './verification/compare.ts';
export type { ExpectedAddress } from './verification/expected-key.ts';
export * from './verification/proposal-content.ts';
export type { RegisteredAddresses, RegistrationTerms } from './verification/registration-terms.ts';
export * from './verification/verify-and-sign.ts';
export * from './verification/verify-approval.ts';
export * from './verification/verify-registered.ts';
export * from './verification/verify-registration.ts';
export { isFinal, type WatchBatchOptions, watchBatch } from './watch-batch.ts';
export { type Connection, type RequestParts, type SendOptions, sendRequest } from './wire/request.ts';
export type { Retry } from './wire/retry.ts';

/** Address of the Token-2022 program. Declared here, because the published package contains what it uses of its client. */
export const TOKEN_2022_PROGRAM_ADDRESS: Address = TOKEN_2022;
