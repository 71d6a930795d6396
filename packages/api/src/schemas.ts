import * as z from 'zod';

/** Lamports, base units and indices travel as decimal strings where they may exceed what JSON numbers hold exactly. */
const isoDateTime = z.iso.datetime().describe('ISO 8601, UTC');

export const MAX_PIPELINES_PER_BATCH = 1_000;
/** A payload is proof data, not storage: 64 KiB of UTF-8. */
export const MAX_PAYLOAD_BYTES = 65_536;

const amount = z
  .number()
  .positive()
  .describe(
    'Whole tokens, greater than zero, with at most 15 significant digits and no more fraction digits than the mint has decimals.',
  );

export const BurnAction = z.strictObject({ action: z.literal('BURN'), amount }).meta({ id: 'BurnAction' });

export const AirdropAction = z
  .strictObject({
    action: z.literal('AIRDROP'),
    toAddress: z.string().describe('The recipient’s wallet: base58, 32 bytes, on the curve.'),
    amount,
  })
  .meta({ id: 'AirdropAction' });

export const MemoAction = z
  .strictObject({ action: z.literal('MEMO'), message: z.string().min(1).describe('Memo text, UTF-8.') })
  .meta({ id: 'MemoAction' });

/** Declared by the interface and not implemented: refused with ERR_FLYWHEEL_INVALID_ACTION. */
export const UNIMPLEMENTED_ACTIONS = ['BUYBACK', 'LOCK', 'UNLOCK'] as const;

export const Action = z
  .discriminatedUnion('action', [BurnAction, AirdropAction, MemoAction])
  .meta({ id: 'Action', description: 'BUYBACK, LOCK and UNLOCK are declared for later and refused today.' });

export const Pipeline = z
  .strictObject({
    type: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 _ -')
      .describe('Proof type, e.g. WATCH_AD. One of the registered types, if the project registered any.'),
    payload: z.string().describe('Text of one JSON object holding the proof data, at most 64 KiB.'),
    actions: z.array(Action).min(1),
  })
  .meta({ id: 'Pipeline' });

export const CompiledPipeline = Pipeline.extend({
  instructions: z
    .array(z.base64())
    .describe('Base64 of each instruction in the Borsh layout SPL Governance calls InstructionData.'),
}).meta({ id: 'CompiledPipeline' });

export const BatchStatus = z
  .enum(['AVAILABLE_TO_QUEUE', 'FINALIZED', 'EXECUTED', 'FAILED'])
  .meta({ id: 'BatchStatus', description: 'EXECUTED and FAILED are final.' });

export const BundleExecution = z
  .object({
    bundleId: z.string().describe('Lowercase hex SHA-256 of the transactions’ first signatures joined by commas.'),
    txHashes: z.array(z.string()).describe('Signatures, base58, in order.'),
  })
  .meta({ id: 'BundleExecution' });

export const InitResult = z
  .object({
    total: z.int(),
    totalSuccessful: z.int(),
    totalFailed: z.int(),
    successfulExecutions: z.array(BundleExecution),
    failedTxMsg: z.string().optional(),
    batchIndex: z.int(),
  })
  .meta({ id: 'InitResult', description: 'What setting the batch up on chain took, in transactions.' });

export const ExecuteResult = z
  .object({
    total: z.int(),
    totalSuccessful: z.int(),
    totalFailed: z.int().describe('Includes pipelines never attempted because an earlier one failed.'),
    successfulExecutions: z.array(BundleExecution),
    failedOnTransactionIndex: z.int().optional().describe('Zero-based position of the pipeline that failed.'),
    failedStartTransactionIndex: z
      .int()
      .optional()
      .describe('Zero-based position of the first pipeline of its bundle.'),
    failedTxMsg: z.string().optional(),
  })
  .meta({ id: 'ExecuteResult', description: 'What became of the batch’s pipelines.' });

export const ExecutionError = z
  .object({ code: z.string(), message: z.string() })
  .meta({ id: 'ExecutionError', description: 'Trouble found after execute answered 202, or what a retry waits for.' });

export const LedgerEntry = z
  .object({
    signature: z.string(),
    phase: z.enum(['setup', 'execution', 'close']),
    feeLamports: z.string(),
    tipLamports: z.string(),
    rentOutLamports: z.string().describe('Locked in Squads accounts until they are closed.'),
    rentBackLamports: z.string(),
    vaultRentLamports: z.string().describe('Paid by the vault for recipients’ token accounts.'),
  })
  .meta({ id: 'LedgerEntry' });

export const Ledger = z
  .object({
    feeLamports: z.string(),
    tipLamports: z.string(),
    rentOutLamports: z.string(),
    rentBackLamports: z.string(),
    vaultRentLamports: z.string(),
    operatorNetLamports: z
      .string()
      .describe('What the operator has paid so far: fees, tips and rent out, less rent back.'),
    isComplete: z.boolean().describe('True once every account of the batch is closed.'),
    entries: z.array(LedgerEntry).describe('One per transaction on chain.'),
  })
  .meta({ id: 'Ledger', description: 'What a batch cost, in lamports as decimal strings.' });

export const Batch = z
  .object({
    id: z.guid(),
    flywheelId: z.string(),
    tokenId: z.string(),
    mintAddress: z.string(),
    status: BatchStatus,
    batchIndex: z.string(),
    vaultIndex: z.string(),
    multisig: z.string(),
    vaultAddress: z.string(),
    initResult: InitResult.optional(),
    executeResult: ExecuteResult.optional(),
    executionError: ExecutionError.optional(),
    dateCreated: isoDateTime,
    dateUpdated: isoDateTime,
    pipelines: z.array(CompiledPipeline).optional().describe('With ?include=pipelines.'),
    proposalApproveTx: z.base64().optional().describe('With ?include=approval, while the batch awaits approval.'),
    ledger: Ledger.optional().describe('With ?include=ledger.'),
  })
  .meta({ id: 'Batch' });

export const InitBatchRequest = z
  .strictObject({ pipelines: z.array(Pipeline).min(1).max(MAX_PIPELINES_PER_BATCH) })
  .meta({ id: 'InitBatchRequest' });

export const InitWarning = z
  .object({ pipeline: z.int(), message: z.string() })
  .meta({ id: 'InitWarning', description: 'Allowed, but worth a look: e.g. a proof that was used before.' });

export const InitBatchResponse = z
  .object({
    proposalApproveTx: z.base64().describe('Serialized v0 transaction for the project’s wallet to sign.'),
    batch: z.object({
      id: z.guid(),
      flywheelId: z.string(),
      status: BatchStatus,
      pipelines: z.array(CompiledPipeline),
      dateCreated: isoDateTime,
    }),
    warnings: z.array(InitWarning).optional(),
  })
  .meta({ id: 'InitBatchResponse' });

export const ExecuteBatchRequest = z
  .strictObject({
    batchId: z.guid(),
    signedTx: z.string().min(1).describe('proposalApproveTx after the project’s wallet has signed it, base64.'),
  })
  .meta({ id: 'ExecuteBatchRequest' });

export const ExecuteBatchResponse = z
  .object({ batchId: z.guid(), status: BatchStatus, result: ExecuteResult })
  .meta({ id: 'ExecuteBatchResponse' });

export const ExecuteBatchPending = z
  .object({ batchId: z.guid(), status: BatchStatus })
  .meta({ id: 'ExecuteBatchPending' });

export const CancelBatchResponse = z
  .object({
    batchId: z.guid(),
    status: BatchStatus,
    cancelTx: z
      .base64()
      .optional()
      .describe('Present where the chain needs the wallet’s cancel too: for it to sign, pay and send within a minute.'),
  })
  .meta({ id: 'CancelBatchResponse' });

export const BatchList = z
  .object({
    batches: z.array(Batch).describe('Newest first.'),
    nextCursor: z.string().optional().describe('Pass it as cursor for the next page; absent on the last.'),
  })
  .meta({ id: 'BatchList' });

export const ErrorBody = z.object({ error: z.string(), message: z.string() }).meta({ id: 'Error' });

export const Scope = z.enum(['burn', 'airdrop']).meta({ id: 'Scope' });

export type Action = z.output<typeof Action>;
export type Pipeline = z.output<typeof Pipeline>;
export type CompiledPipeline = z.output<typeof CompiledPipeline>;
export type BatchStatus = z.output<typeof BatchStatus>;
export type BundleExecution = z.output<typeof BundleExecution>;
export type InitResult = z.output<typeof InitResult>;
export type ExecuteResult = z.output<typeof ExecuteResult>;
export type ExecutionError = z.output<typeof ExecutionError>;
export type Batch = z.output<typeof Batch>;
export type InitBatchRequest = z.output<typeof InitBatchRequest>;
export type InitBatchResponse = z.output<typeof InitBatchResponse>;
export type InitWarning = z.output<typeof InitWarning>;
export type ExecuteBatchRequest = z.output<typeof ExecuteBatchRequest>;
export type ExecuteBatchResponse = z.output<typeof ExecuteBatchResponse>;
export type ExecuteBatchPending = z.output<typeof ExecuteBatchPending>;
export type CancelBatchResponse = z.output<typeof CancelBatchResponse>;
export type Ledger = z.output<typeof Ledger>;
export type BatchList = z.output<typeof BatchList>;
export type ErrorBody = z.output<typeof ErrorBody>;
export type Scope = z.output<typeof Scope>;
