import * as z from 'zod';
import { nextCursor } from './page.ts';
import { isoDateTime, lamports, wholeTokens } from './values.ts';

// Lamports, base units and indices are decimal strings where they may exceed 2^53, the limit of exact JSON numbers.

/** UUID in a request; parsed to lower case, as the database writes it. */
export const idParam = z.guid().toLowerCase();

export const MAX_PIPELINES_PER_BATCH = 1_000;
/** Bytes of UTF-8. A payload is proof data, not storage. */
export const MAX_PAYLOAD_BYTES = 65_536;

const amount = z.number().positive().meta({
  // Without it, generated Go clients hold an amount as a float of 32 bits and send 16777218 for 16777217.25.
  format: 'double',
  description:
    'Whole tokens, greater than zero, with at most 15 significant digits and no more fraction digits than the mint has decimals.',
});

export const BurnAction = z.strictObject({ action: z.literal('BURN'), amount }).meta({ id: 'BurnAction' });

export const AirdropAction = z
  .strictObject({
    action: z.literal('AIRDROP'),
    toAddress: z.string().describe('Wallet of the recipient: a base58 address on the Ed25519 curve.'),
    amount,
  })
  .meta({ id: 'AirdropAction' });

export const MemoAction = z
  .strictObject({ action: z.literal('MEMO'), message: z.string().min(1).describe('Memo text, UTF-8.') })
  .meta({ id: 'MemoAction' });

/** Actions that the contract declares but does not implement; they get ERR_FLYWHEEL_INVALID_ACTION. */
export const UNIMPLEMENTED_ACTIONS = ['BUYBACK', 'LOCK', 'UNLOCK'] as const;

export const Action = z
  .discriminatedUnion('action', [BurnAction, AirdropAction, MemoAction])
  .meta({ id: 'Action', description: 'BUYBACK, LOCK and UNLOCK are reserved and get ERR_FLYWHEEL_INVALID_ACTION.' });

export const MAX_TYPE_CHARACTERS = 64;
/** Grammar of a pipeline's type. */
export const PROOF_TYPE = /* @__PURE__ */ new RegExp(`^[A-Za-z0-9_-]{1,${MAX_TYPE_CHARACTERS}}$`);

export const Pipeline = z
  .strictObject({
    type: z
      .string()
      .regex(PROOF_TYPE, `must be 1 to ${MAX_TYPE_CHARACTERS} of A-Z a-z 0-9 _ -`)
      .describe('Proof type, e.g. WATCH_AD. It must be a registered type if the project has registered any.'),
    payload: z.string().describe('JSON text of one object with the proof data, at most 64 KiB.'),
    actions: z.array(Action).min(1),
  })
  .meta({ id: 'Pipeline' });

export const CompiledPipeline = Pipeline.extend({
  instructions: z
    .array(z.base64())
    .describe('Each instruction as base64 of its Borsh encoding (InstructionData of SPL Governance).'),
}).meta({ id: 'CompiledPipeline' });

export const BatchStatus = z.enum(['AVAILABLE_TO_QUEUE', 'FINALIZED', 'EXECUTED', 'FAILED']).meta({
  id: 'BatchStatus',
  description:
    'EXECUTED and FAILED are ends. EXECUTED is final when the cluster has finalized it, about 13 s later; until then a fork can turn it into FAILED.',
});

export const BundleExecution = z
  .object({
    bundleId: z.string().describe('Lowercase hex SHA-256 of the transactions’ first signatures joined by commas.'),
    txHashes: z.array(z.string()).describe('Transaction signatures, base58, in order.'),
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
  .meta({ id: 'InitResult', description: 'Result of setting the batch up on chain; counts are transactions.' });

export const RecipientFailure = z
  .object({
    pipeline: z.int().describe('Zero-based position of the pipeline.'),
    action: z.int().describe('Zero-based position of the action in its pipeline.'),
    recipient: z.string().describe('Address of the recipient.'),
    reason: z.string(),
  })
  .meta({ id: 'RecipientFailure', description: 'The recipient whose account refused the tokens.' });

export const ExecuteResult = z
  .object({
    total: z.int(),
    totalSuccessful: z.int(),
    totalFailed: z.int().describe('Includes pipelines that were not attempted because an earlier one failed.'),
    successfulExecutions: z.array(BundleExecution),
    failedOnTransactionIndex: z.int().optional().describe('Zero-based position of the pipeline that failed.'),
    failedStartTransactionIndex: z
      .int()
      .optional()
      .describe('Zero-based position of the first pipeline of its bundle.'),
    failedTxMsg: z.string().optional(),
    failedRecipient: RecipientFailure.optional().describe('Present when a recipient made the pipeline fail.'),
    heldRecipients: z
      .array(z.string())
      .optional()
      .describe(
        'Addresses that pipelines which were not executed pay, and that were held back when the batch ended. Present when there are any.',
      ),
  })
  .meta({ id: 'ExecuteResult', description: 'Result of executing the batch; counts are pipelines.' });

export const Problem = z
  .object({
    code: z.string().describe('Error code that the answer has, or that init or execute would answer.'),
    place: z
      .string()
      .optional()
      .describe('E.g. `pipelines[3].actions[0].toAddress`; absent if it does not concern a part of the request.'),
    message: z.string().describe('A sentence that does not repeat the place.'),
    recipient: z.string().optional().describe('Address of the recipient that causes it; absent for other causes.'),
  })
  .meta({ id: 'Problem' });

export const ExecutionError = z
  .object({ code: z.string(), message: z.string(), problems: z.array(Problem).optional() })
  .meta({
    id: 'ExecutionError',
    description: 'Why execution cannot continue at the moment, found after execute returned 202.',
  });

export const LedgerEntry = z
  .object({
    signature: z.string(),
    phase: z.enum(['setup', 'execution', 'close']),
    feeLamports: z.string(),
    tipLamports: z.string(),
    rentOutLamports: z.string().describe('Rent locked in Squads accounts until they are closed.'),
    rentBackLamports: z.string(),
    vaultRentLamports: z.string().describe('Rent that the vault paid for recipients’ token accounts.'),
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
      .describe('Total that the operator has paid so far: fees, tips and locked rent, minus returned rent.'),
    isComplete: z.boolean().describe('True when every account of the batch is closed, and that is final.'),
    entries: z.array(LedgerEntry).describe('One per transaction on chain, from when it is final.'),
  })
  .meta({ id: 'Ledger', description: 'Costs of a batch. Amounts are lamports as decimal strings.' });

export const InitBatchRequest = z
  .strictObject({ pipelines: z.array(Pipeline).min(1).max(MAX_PIPELINES_PER_BATCH) })
  .meta({ id: 'InitBatchRequest' });

const restFields = {
  rest: InitBatchRequest.optional().describe(
    'Body for init with the pipelines that were not executed, without those in `heldBack`; absent when there are none.',
  ),
  heldBack: InitBatchRequest.optional().describe(
    'Body for init with the pipelines that were not executed and pay a recipient who made a batch fail. Send it as a batch of its own.',
  ),
};

export const Batch = z
  .object({
    id: z.guid(),
    flywheelId: z.string(),
    tokenId: z.string(),
    mintAddress: z.string(),
    status: BatchStatus,
    endCause: z
      .enum(['executed', 'failed', 'expired', 'cancelled', 'rejected'])
      .meta({ id: 'EndCause', description: 'Why it has ended: `cancelled` by its project, `rejected` by the company.' })
      .optional(),
    batchIndex: z.string(),
    vaultIndex: z.string(),
    multisig: z.string(),
    vaultAddress: z.string(),
    initResult: InitResult.optional(),
    executeResult: ExecuteResult.optional(),
    executionError: ExecutionError.optional(),
    awaitsCompany: z
      .literal(true)
      .optional()
      .describe('While a person must decide for the company. The wallet has nothing more to sign.'),
    dateCreated: isoDateTime,
    dateUpdated: isoDateTime,
    pipelines: z.array(CompiledPipeline).optional().describe('With ?include=pipelines.'),
    proposalApproveTx: z.base64().optional().describe('With ?include=approval, while the batch awaits approval.'),
    ledger: Ledger.optional().describe('With ?include=ledger.'),
    rest: restFields.rest.describe(
      'With ?include=rest, of a FAILED batch: body for init with the pipelines that were not executed.',
    ),
    heldBack: restFields.heldBack.describe(
      'With ?include=rest, of a FAILED batch: body for init with those that pay a recipient who made a batch fail.',
    ),
  })
  .meta({ id: 'Batch' });

export const InitWarning = z
  .object({ pipeline: z.int(), message: z.string() })
  .meta({ id: 'InitWarning', description: 'Allowed, but probably not intended: e.g. a proof that was used before.' });

// The ids of responses end with Reply, because oapi-codegen gives the name `InitBatchResponse` to a type of its own.

export const InitBatchResponse = z
  .object({
    proposalApproveTx: z.base64().describe('Version 0 transaction for the project’s wallet to sign, base64.'),
    batch: z.object({
      id: z.guid(),
      flywheelId: z.string(),
      status: BatchStatus,
      pipelines: z.array(CompiledPipeline),
      dateCreated: isoDateTime,
    }),
    warnings: z.array(InitWarning).optional(),
  })
  .meta({ id: 'InitBatchReply' });

export const ExecuteBatchRequest = z
  .strictObject({
    batchId: idParam,
    signedTx: z.string().min(1).describe('proposalApproveTx after the project’s wallet has signed it, base64.'),
  })
  .meta({ id: 'ExecuteBatchRequest' });

export const ExecuteBatchResponse = z
  .object({ batchId: z.guid(), status: BatchStatus, result: ExecuteResult, ...restFields })
  .meta({ id: 'ExecuteBatchReply' });

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
      .describe(
        'Present when the chain also needs the wallet’s vote to cancel: the wallet signs it, pays the fee, and sends it within a minute.',
      ),
    ...restFields,
  })
  .meta({ id: 'CancelBatchReply' });

export const BatchList = z
  .object({
    batches: z.array(Batch).describe('Newest first.'),
    nextCursor,
    vaultAddress: z
      .string()
      .optional()
      .describe('The vault of the key’s project, also while it has no batches. Services before 0.3 leave it out.'),
  })
  .meta({ id: 'BatchList' });

const PreviewedPipeline = z
  .object({
    instructions: z.array(z.base64()).describe('Instructions as init would return them.'),
    bytes: z.int().describe('Size of the pipeline in its transaction.'),
    maxBytes: z.int().describe('Maximum size of a pipeline.'),
  })
  .meta({ id: 'PreviewedPipeline' });

const PreviewedLimit = z
  .object({
    cap: wholeTokens,
    used: wholeTokens,
    asked: wholeTokens.describe('Amount of this request.'),
    left: wholeTokens.describe('Amount left before this request.'),
    resetsAt: isoDateTime,
  })
  .meta({ id: 'PreviewedLimit', description: 'Daily limit of the current UTC day.' });

const PreviewedCost = z
  .object({
    feeLamports: lamports.describe('Fees of all transactions from setup to close; the operator pays them.'),
    tipLamports: lamports.describe('Tips to the block engine; the operator pays them.'),
    vaultRentLamports: lamports.describe('Rent of recipients’ token accounts; the vault pays it.'),
    rentLockedLamports: lamports.describe(
      'Rent of Squads accounts; the operator pays it and gets it back when the batch is closed.',
    ),
    operatorNetLamports: lamports.describe('Fees and tips: the final cost for the operator.'),
  })
  .meta({
    id: 'PreviewedCost',
    description: 'Costs as the ledger will show them if every bundle lands at the first attempt.',
  });

export const MetRule = z
  .object({
    rule: z.string().describe('Name of the rule, such as `personPerBatch`.'),
    effect: z
      .enum(['refused', 'capped', 'person', 'twoOperators', 'waits'])
      .describe('`refused` and `capped`: init refuses it. Others wait for one operator, for two, or for a time.'),
    message: z.string().describe('Sentences: the fact, and the rule.'),
  })
  .meta({ id: 'MetRule', description: 'A rule of the company for the project that a batch meets.' });

export const PreviewBatchResponse = z
  .object({
    pipelines: z.array(PreviewedPipeline),
    problems: z.array(Problem).describe('Empty when the batch would succeed now.'),
    rules: z
      .array(MetRule)
      .optional()
      .describe('Rules of the company that the batch meets now; absent if there are none.'),
    warnings: z.array(InitWarning).optional(),
    funds: z.object({
      tokens: z.object({ needed: wholeTokens, available: wholeTokens, missing: wholeTokens }),
      lamports: z.object({ needed: lamports, available: lamports, missing: lamports }),
    }),
    limits: z.object({ burn: PreviewedLimit, airdrop: PreviewedLimit }),
    cost: PreviewedCost,
  })
  .meta({ id: 'PreviewBatchReply' });

export const ReachedCap = z
  .object({
    scope: z
      .enum(['project', 'key', 'unadmitted'])
      .describe('Who holds it: the project, the API key, or all projects together that the company has not admitted.'),
    kind: z
      .enum(['locked', 'spent', 'batches', 'pipelines', 'burn', 'airdrop'])
      .describe(
        '`locked`: rent that comes back. `spent`: fees and tips of the UTC day, and what open batches may still spend.',
      ),
    cap: z.string().describe('Lamports, a count, or whole tokens of `burn` and `airdrop`.'),
    used: z.string(),
    asked: z.string(),
    resetsAt: isoDateTime.optional().describe('Absent if time alone returns nothing.'),
  })
  .meta({ id: 'ReachedCap', description: 'The cap that a request would exceed.' });

export const ErrorBody = z
  .object({
    error: z.string(),
    message: z.string(),
    problems: z
      .array(Problem)
      .optional()
      .describe('The issues of the request, with the place of each. Absent if no place is known.'),
    cap: ReachedCap.optional().describe('Only of `ERR_CAP_REACHED`.'),
  })
  .meta({ id: 'Error' });

export const Scope = z.enum(['burn', 'airdrop']).meta({ id: 'Scope' });

export type Action = z.output<typeof Action>;
export type Pipeline = z.output<typeof Pipeline>;
export type CompiledPipeline = z.output<typeof CompiledPipeline>;
export type BatchStatus = z.output<typeof BatchStatus>;
export type BundleExecution = z.output<typeof BundleExecution>;
export type InitResult = z.output<typeof InitResult>;
export type ExecuteResult = z.output<typeof ExecuteResult>;
export type RecipientFailure = z.output<typeof RecipientFailure>;
export type ExecutionError = z.output<typeof ExecutionError>;
export type Batch = z.output<typeof Batch>;
export type InitBatchRequest = z.output<typeof InitBatchRequest>;
export type InitBatchResponse = z.output<typeof InitBatchResponse>;
export type InitWarning = z.output<typeof InitWarning>;
export type ExecuteBatchRequest = z.output<typeof ExecuteBatchRequest>;
export type ExecuteBatchResponse = z.output<typeof ExecuteBatchResponse>;
export type ExecuteBatchPending = z.output<typeof ExecuteBatchPending>;
export type CancelBatchResponse = z.output<typeof CancelBatchResponse>;
export type MetRule = z.output<typeof MetRule>;

/** Returns true if a batch waits by this rule. Rules that refuse a batch are among its problems. */
export function isWait({ effect }: MetRule): boolean {
  return effect !== 'refused' && effect !== 'capped';
}
export type PreviewBatchResponse = z.output<typeof PreviewBatchResponse>;
export type Ledger = z.output<typeof Ledger>;
export type BatchList = z.output<typeof BatchList>;
export type Problem = z.output<typeof Problem>;
export type ReachedCap = z.output<typeof ReachedCap>;
export type ErrorBody = z.output<typeof ErrorBody>;
export type Scope = z.output<typeof Scope>;
