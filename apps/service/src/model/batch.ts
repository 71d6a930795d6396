import {
  type Action,
  ApiError,
  asSentence,
  type BatchKind,
  type BatchStatus,
  type EndCause,
  type ErrorContext,
  type ExecuteResult,
  type InitResult,
  type Pipeline,
  type RotateAction,
  type WithdrawAction,
} from '@flywheel/api';
import type { Address, Base64EncodedWireTransaction, Instruction, Nonce, Signature } from '@solana/kit';

/** An action of an API client, or a withdrawal, which only the console can request. */
export type VaultAction = Action | WithdrawAction;

/** A pipeline to compile, from the API or the console. */
export interface VaultPipeline extends Omit<Pipeline, 'actions'> {
  readonly actions: readonly VaultAction[];
}

/** An action of a batch. Squads, not the vault, executes a rotation. */
export type BatchAction = VaultAction | RotateAction;

/** Leaves out the actions that exist in the console only. */
export function publicActions(actions: readonly BatchAction[]): Action[] {
  return actions.filter((action) => action.action !== 'WITHDRAW' && action.action !== 'ROTATE');
}

/** A compiled pipeline. */
export interface CompiledPipeline extends Omit<Pipeline, 'actions'> {
  readonly actions: readonly BatchAction[];
  /** The proof memo, then the actions' instructions. Empty for a rotation, which Squads executes itself. */
  readonly instructions: readonly Instruction[];
  /** Bytes that Squads stores on chain and members vote on: the instructions, or a rotation's actions. */
  readonly vaultMessage: Uint8Array;
}

export interface Batch {
  readonly id: string;
  readonly projectId: string;
  readonly flywheelId: string;
  readonly tokenId: string;
  readonly kind: BatchKind;
  readonly status: BatchStatus;
  /** The Squads transaction index. It is never reused for other content. */
  readonly batchIndex: bigint;
  readonly pipelines: readonly CompiledPipeline[];
  /** The length of `pipelines`, also where they are not read. */
  readonly pipelineCount: number;
  /** Leased while the batch is open. */
  readonly nonce: LeasedNonce;
  /** The approval signed by the wallet; null until execution is requested. */
  readonly signedTx: Base64EncodedWireTransaction | null;
  readonly initResult: InitResult | null;
  readonly executeResult: ExecuteResult | null;
  readonly executionError: ExecutionIssue | null;
  /** True while the batch is open and a person must decide for the company. */
  readonly awaitsCompany: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Time at which it became EXECUTED or FAILED. */
  readonly endedAt: Date | null;
  /** Why it has ended; null while it is open, and for batches of older releases. */
  readonly endCause: EndCause | null;
}

type ExecutionIssueCode =
  | 'ERR_SIGNED_TX_INVALID'
  | 'ERR_VAULT_UNDERFUNDED'
  | 'ERR_BATCH_WOULD_FAIL'
  | 'ERR_BATCH_EXECUTE_FAILED';

/** An issue that keeps a requested execution from going on: the error that execute would have answered with. */
export type ExecutionIssue = {
  [Code in ExecutionIssueCode]: {
    readonly code: Code;
    readonly context: ErrorContext<Code>;
    /** Sentences that name the cause of a delay and the next step; only of ERR_BATCH_EXECUTE_FAILED. */
    readonly reason?: Code extends 'ERR_BATCH_EXECUTE_FAILED' ? string : never;
  };
}[ExecutionIssueCode];

/** Builds the issue of a batch that something outside of it delays. @param reason sentences: the cause and the next step. */
export function heldUp(reason: string): ExecutionIssue {
  return { code: 'ERR_BATCH_EXECUTE_FAILED', context: undefined, reason };
}

/** The error that an answer carries for an issue. */
export function toApiError(issue: ExecutionIssue): ApiError {
  switch (issue.code) {
    case 'ERR_SIGNED_TX_INVALID':
      return new ApiError(issue.code, issue.context);
    case 'ERR_VAULT_UNDERFUNDED':
      return new ApiError(issue.code, issue.context);
    case 'ERR_BATCH_WOULD_FAIL':
      return new ApiError(issue.code, issue.context);
    case 'ERR_BATCH_EXECUTE_FAILED':
      return new ApiError(issue.code);
    default:
      throw issue satisfies never;
  }
}

/** Returns the message of an issue for events and `flywheel doctor`: that of its error, or what holds it up. */
export function issueMessage(issue: ExecutionIssue): string {
  return issue.reason === undefined ? toApiError(issue).message : `It is held up: ${issue.reason}`;
}

/** Describes in a sentence, for a person, what holds a batch of this status up. */
export function describeExecutionIssue(issue: ExecutionIssue, status: BatchStatus): string {
  switch (issue.code) {
    case 'ERR_VAULT_UNDERFUNDED':
      return issue.context.problems.join(' ');
    case 'ERR_BATCH_WOULD_FAIL':
      return new ApiError(issue.code, issue.context).message;
    case 'ERR_SIGNED_TX_INVALID':
      return `The approval was not accepted: ${issue.context.problem}`;
    case 'ERR_BATCH_EXECUTE_FAILED': {
      const what = status === 'AVAILABLE_TO_QUEUE' ? 'Setting the batch up on chain' : 'The batch';
      return issue.reason === undefined
        ? `${what} is held up by an error of the service.`
        : `${what} is held up: ${issue.reason}`;
    }
    default:
      throw issue satisfies never;
  }
}

/** Describes in a sentence why the company has ended a batch. */
export function describeRejection(reason: string): string {
  return `The company rejected the batch: ${asSentence(reason)}`;
}

/** Returns the time at which an open batch ends. */
export function expiresAtOf(
  { createdAt }: Pick<Batch, 'createdAt'>,
  { batchExpirySeconds }: { readonly batchExpirySeconds: number },
): Date {
  return new Date(createdAt.getTime() + batchExpirySeconds * 1_000);
}

/** A batch without its pipelines, so that polling a large batch costs no more than polling a small one. */
export type BatchWithoutPipelines = Omit<Batch, 'pipelines'>;

/** A durable nonce and the value that the approval is built on. */
export interface LeasedNonce {
  readonly address: Address;
  readonly value: Nonce;
}

/** Cause for which a batch moves to its next status. */
export type BatchTransition =
  | 'SETUP_LANDED'
  | 'SETUP_FAILED'
  | 'EXECUTION_LANDED'
  | 'EXECUTION_FAILED'
  | 'ENDED_UNEXECUTED'
  | 'EXECUTION_UNDONE';

const TRANSITIONS: { readonly [S in BatchStatus]: { readonly [T in BatchTransition]?: BatchStatus } } = {
  AVAILABLE_TO_QUEUE: { SETUP_LANDED: 'FINALIZED', SETUP_FAILED: 'FAILED', ENDED_UNEXECUTED: 'FAILED' },
  FINALIZED: {
    EXECUTION_LANDED: 'EXECUTED',
    EXECUTION_FAILED: 'FAILED',
    ENDED_UNEXECUTED: 'FAILED',
    // A fork took the setup away, and it cannot be repeated.
    SETUP_FAILED: 'FAILED',
  },
  // EXECUTED is shown at `confirmed`. A fork took a part of it away, which could not be executed again.
  EXECUTED: { EXECUTION_UNDONE: 'FAILED' },
  FAILED: {},
};

/**
 * Returns the status after a transition.
 * @throws Error for one that does not exist. That is a bug, because the store's guard refuses it as well.
 */
export function nextStatus(status: BatchStatus, transition: BatchTransition): BatchStatus {
  const next = TRANSITIONS[status][transition];
  if (next === undefined) throw new Error(`A batch that is ${status} cannot move by ${transition}.`);
  return next;
}

/** Transactions that are sent together. They are recorded before they are sent. */
export interface Bundle {
  readonly id: bigint;
  readonly batchId: string;
  readonly phase: 'setup' | 'execution' | 'close';
  readonly bundleId: string;
  readonly transactions: readonly Base64EncodedWireTransaction[];
  readonly signatures: readonly Signature[];
  readonly lastValidBlockHeight: bigint;
  /** Zero-based position of the first pipeline it executes; 0 in the other phases. */
  readonly firstPipeline: number;
  /** Number of pipelines that each transaction executes; transactions without an entry execute none. */
  readonly pipelineCounts: readonly number[];
  /** True if sent to a block engine, which lands all or nothing; false if the transactions were sent one by one. */
  readonly isAtomic: boolean;
  /** Tip of its last transaction for the block engine. */
  readonly tipLamports: bigint;
  readonly state: 'sent' | 'landed' | 'failed';
  /** Signatures that landed and succeeded: all if the bundle landed, some if it landed in part. */
  readonly landedSignatures: readonly Signature[];
  /** Slot of the last of its transactions that landed, successful or not; null if none did, or an older release sent it. */
  readonly landedSlot: bigint | null;
}

/** Costs of one landed transaction, successful or not. The operator's balance falls by fee + tip + rent out − rent back. */
export interface LedgerEntry {
  readonly signature: Signature;
  readonly phase: Bundle['phase'];
  readonly feeLamports: bigint;
  readonly tipLamports: bigint;
  /** Rent locked in Squads accounts until they are closed. */
  readonly rentOutLamports: bigint;
  readonly rentBackLamports: bigint;
  /** Rent that the vault paid for recipients' token accounts. */
  readonly vaultRentLamports: bigint;
}
