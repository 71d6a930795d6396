import * as z from 'zod';
import { nextCursor } from '../page.ts';
import { Action, Batch, BatchStatus, CompiledPipeline } from '../schemas.ts';
import { isoDateTime, wholeTokens } from '../values.ts';
import { RotateAction, WithdrawAction } from './treasury.ts';

export const WaitsFor = z.enum(['setup', 'wallet', 'company', 'execution', 'close', 'nothing']).meta({
  id: 'WaitsFor',
  description:
    'Next step of a batch. `wallet` and `company` need a person; `setup`, `execution` and `close` happen by themselves.',
});

export const BatchKind = z.enum(['pipelines', 'withdrawal', 'rotation']).meta({
  id: 'BatchKind',
  description:
    '`withdrawal` takes SOL or tokens out of the vault, `rotation` replaces a member of the multisig. Both are created and shown only in the console.',
});

export const BatchRow = z
  .object({
    id: z.guid(),
    kind: BatchKind.optional().describe('`pipelines` when absent.'),
    batchIndex: z.string(),
    status: BatchStatus,
    endCause: Batch.shape.endCause,
    waitsFor: WaitsFor,
    pipelines: z.int(),
    types: z.array(z.string()).describe('Distinct types of its pipelines, at most five.'),
    actions: z.object({ burn: z.int(), airdrop: z.int(), memo: z.int() }).describe('Number of actions of each kind.'),
    burned: wholeTokens.describe('Requested amount; `status` says whether it was executed.'),
    airdropped: wholeTokens,
    withdrawal: WithdrawAction.pick({ asset: true, amount: true }).optional().describe('What a withdrawal takes.'),
    executedPipelines: z.int(),
    operatorLamports: z.string().describe('Lamports that the operator has paid so far, including locked rent.'),
    lockedLamports: z.string().describe('The part of them that is rent, which comes back when the accounts close.'),
    problem: z.string().optional().describe('Why the batch cannot continue, or why it failed.'),
    dateCreated: isoDateTime,
    dateUpdated: isoDateTime,
    dateEnded: isoDateTime.optional(),
  })
  .meta({ id: 'BatchRow' });

export const BatchPage = z
  .object({ batches: z.array(BatchRow).describe('Newest first.'), nextCursor })
  .meta({ id: 'BatchPage' });

const TimelineStep = z
  .object({
    step: z.enum(['compiled', 'setUp', 'walletApproval', 'companyApproval', 'executed', 'rentReturned']),
    state: z
      .enum(['done', 'running', 'waiting', 'failed', 'upcoming', 'skipped'])
      .describe('`waiting`: needs a person. `skipped`: the batch ended earlier.'),
    at: isoDateTime.optional().describe('When the step was done or failed.'),
    note: z.string().optional().describe('Short text, e.g. `2 transactions`, or who rejected the batch and why.'),
    signatures: z.array(z.string()).describe('Signatures of the step’s landed transactions, in order.'),
  })
  .meta({ id: 'TimelineStep' });

const BundleRecord = z
  .object({
    bundleId: z.string(),
    phase: z.enum(['setup', 'execution', 'close']),
    state: z.enum(['sent', 'landed', 'failed']),
    isAtomic: z.boolean().describe('True for a bundle sent to a block engine, which lands all transactions or none.'),
    signatures: z.array(z.string()),
    landedSignatures: z.array(z.string()),
    firstPipeline: z.int(),
    pipelineCounts: z
      .array(z.int())
      .describe('Number of pipelines that each transaction executes, in order from `firstPipeline`.'),
    tipLamports: z.string(),
    sentAt: isoDateTime,
    settledAt: isoDateTime.optional(),
  })
  .meta({ id: 'BundleRecord' });

const BatchFailure = z
  .object({
    message: z.string().describe('Sentence: what happened.'),
    chainError: z.string().optional().describe('TransactionError as JSON text, if the chain reported one.'),
    remedy: z.string().describe('Sentence: what to do about it.'),
    code: z.string().optional().describe('Error code that execute returns.'),
    pipeline: z.int().optional().describe('Zero-based position of the pipeline that caused it.'),
    isFinal: z.boolean().describe('False while the batch can continue after the cause is resolved.'),
  })
  .meta({ id: 'BatchFailure' });

export const BatchProgress = z
  .object({
    batch: Batch.omit({ pipelines: true, proposalApproveTx: true }).describe(
      'The batch as `/v1` returns it, with its ledger.',
    ),
    projectId: z.guid(),
    kind: BatchKind.optional().describe('`pipelines` when absent.'),
    waitsFor: WaitsFor,
    timeline: z.array(TimelineStep).describe('All steps, in order.'),
    bundles: z.array(BundleRecord).describe('Bundles in the order of sending.'),
    executedPipelines: z.int(),
    failure: BatchFailure.optional(),
    expiresAt: isoDateTime
      .optional()
      .describe('When the batch expires if it is not executed; absent after it has ended.'),
  })
  .meta({ id: 'BatchProgress' });

const PipelineRecord = CompiledPipeline.extend({
  actions: z.array(z.union([Action, WithdrawAction, RotateAction])),
  memo: z.string().describe('Proof memo of its transaction.'),
  state: z.enum(['waiting', 'executed', 'failed', 'skipped']),
  signature: z.string().optional().describe('Signature of the transaction that executed it.'),
  bytes: z.int().describe('Size of the pipeline in its transaction.'),
  maxBytes: z.int(),
}).meta({ id: 'PipelineRecord' });

export const BatchDetail = BatchProgress.extend({
  pipelines: z.array(PipelineRecord),
}).meta({ id: 'BatchDetail' });

export const ApprovalToSign = z
  .object({ proposalApproveTx: z.base64().describe('Uses the current value of the nonce.') })
  .meta({ id: 'ApprovalToSign' });

export const ExecuteRequest = z
  .strictObject({ signedTx: z.string().min(1).describe('proposalApproveTx after the wallet has signed it, base64.') })
  .meta({ id: 'ExecuteRequest' });

export type BatchKind = z.output<typeof BatchKind>;
export type EndCause = NonNullable<Batch['endCause']>;
export type WaitsFor = z.output<typeof WaitsFor>;
export type BatchRow = z.output<typeof BatchRow>;
export type BatchPage = z.output<typeof BatchPage>;
export type BatchProgress = z.output<typeof BatchProgress>;
export type BatchDetail = z.output<typeof BatchDetail>;
export type TimelineStep = z.output<typeof TimelineStep>;
export type BatchFailure = z.output<typeof BatchFailure>;
export type BundleRecord = z.output<typeof BundleRecord>;
