import * as z from 'zod';
import { Action, Batch, BatchStatus, CompiledPipeline } from '../schemas.ts';
import { RotateAction, WithdrawAction } from './treasury.ts';
import { isoDateTime, nextCursor, wholeTokens } from './values.ts';

export const WaitsFor = z.enum(['setup', 'wallet', 'company', 'execution', 'close', 'nothing']).meta({
  id: 'WaitsFor',
  description:
    'What happens next: `wallet` and `company` are people, `setup`, `execution` and `close` go on by themselves.',
});

export const BatchKind = z.enum(['pipelines', 'withdrawal', 'rotation']).meta({
  id: 'BatchKind',
  description:
    '`withdrawal`: takes SOL or tokens out of the vault. `rotation`: replaces an approver. The console alone makes and shows these two.',
});

export const BatchRow = z
  .object({
    id: z.guid(),
    kind: BatchKind.optional().describe('`pipelines` when absent.'),
    batchIndex: z.string(),
    status: BatchStatus,
    waitsFor: WaitsFor,
    pipelines: z.int(),
    types: z.array(z.string()).describe('Of its pipelines, each once, at most five.'),
    actions: z.object({ burn: z.int(), airdrop: z.int(), memo: z.int() }).describe('How many there are of each.'),
    burned: wholeTokens.describe('Asked for; whether it came to pass, `status` says.'),
    airdropped: wholeTokens,
    executedPipelines: z.int(),
    operatorLamports: z.string().describe('What it has cost the operator so far; rent that is out counts.'),
    problem: z.string().optional().describe('What holds it up, or why it failed.'),
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
      .describe('`waiting`: for a person. `skipped`: the batch ended before.'),
    at: isoDateTime.optional().describe('When it was done, or failed.'),
    note: z.string().optional().describe('A few words, e.g. `2 transactions` or who rejected it and why.'),
    signatures: z.array(z.string()).describe('Of its transactions that landed, in order.'),
  })
  .meta({ id: 'TimelineStep' });

const BundleRecord = z
  .object({
    bundleId: z.string(),
    phase: z.enum(['setup', 'execution', 'close']),
    state: z.enum(['sent', 'landed', 'failed']),
    isAtomic: z.boolean().describe('Sent to a block engine, which lands all of it or nothing.'),
    signatures: z.array(z.string()),
    landedSignatures: z.array(z.string()),
    firstPipeline: z.int(),
    pipelineCounts: z.array(z.int()).describe('How many pipelines each transaction executes, from the first on.'),
    tipLamports: z.string(),
    sentAt: isoDateTime,
    settledAt: isoDateTime.optional(),
  })
  .meta({ id: 'BundleRecord' });

const BatchFailure = z
  .object({
    message: z.string().describe('What happened, a sentence.'),
    remedy: z.string().describe('What to do about it, a sentence.'),
    code: z.string().optional().describe('As execute answers it.'),
    pipeline: z.int().optional().describe('Zero-based position of the pipeline at fault.'),
    isFinal: z.boolean().describe('False: it is held up, and goes on when the cause is mended.'),
  })
  .meta({ id: 'BatchFailure' });

export const BatchProgress = z
  .object({
    batch: Batch.omit({ pipelines: true, proposalApproveTx: true }).describe('As `/v1` answers it, with its ledger.'),
    projectId: z.guid(),
    kind: BatchKind.optional().describe('`pipelines` when absent.'),
    waitsFor: WaitsFor,
    timeline: z.array(TimelineStep).describe('Every step, in order.'),
    bundles: z.array(BundleRecord).describe('In the order in which they were sent.'),
    executedPipelines: z.int(),
    failure: BatchFailure.optional(),
    expiresAt: isoDateTime.optional().describe('When it ends unless it is executed; absent once it has ended.'),
  })
  .meta({ id: 'BatchProgress' });

const PipelineRecord = CompiledPipeline.extend({
  actions: z.array(z.union([Action, WithdrawAction, RotateAction])),
  memo: z.string().describe('The proof memo that its transaction carries.'),
  state: z.enum(['waiting', 'executed', 'failed', 'skipped']),
  signature: z.string().optional().describe('Of the transaction that executed it.'),
  bytes: z.int().describe('What it takes of its transaction.'),
  maxBytes: z.int(),
}).meta({ id: 'PipelineRecord' });

export const BatchDetail = BatchProgress.extend({
  pipelines: z.array(PipelineRecord),
}).meta({ id: 'BatchDetail' });

export const ApprovalToSign = z
  .object({ proposalApproveTx: z.base64().describe('On the nonce as the chain has it now.') })
  .meta({ id: 'ApprovalToSign' });

export const ExecuteRequest = z
  .strictObject({ signedTx: z.string().min(1).describe('proposalApproveTx after the wallet has signed it, base64.') })
  .meta({ id: 'ExecuteRequest' });

export type BatchKind = z.output<typeof BatchKind>;
export type WaitsFor = z.output<typeof WaitsFor>;
export type BatchRow = z.output<typeof BatchRow>;
export type BatchPage = z.output<typeof BatchPage>;
export type BatchProgress = z.output<typeof BatchProgress>;
export type BatchDetail = z.output<typeof BatchDetail>;
export type TimelineStep = z.output<typeof TimelineStep>;
export type BatchFailure = z.output<typeof BatchFailure>;
export type BundleRecord = z.output<typeof BundleRecord>;
