import {
  type Action,
  ApiError,
  type BatchKind,
  type BatchStatus,
  type ErrorContext,
  type ExecuteResult,
  type InitResult,
  type Pipeline,
  type RotateAction,
  type WithdrawAction,
} from '@flywheel/api';
import type { Address, Base64EncodedWireTransaction, Instruction, Nonce } from '@solana/kit';

/** What an API client may ask for, or a withdrawal, which only the console may. */
export type VaultAction = Action | WithdrawAction;

/** A pipeline to compile, whoever asked for it. */
export interface VaultPipeline extends Omit<Pipeline, 'actions'> {
  readonly actions: readonly VaultAction[];
}

/** What a batch may hold: a rotation is no doing of the vault's. */
export type BatchAction = VaultAction | RotateAction;

/** A pipeline with what it compiles to. */
export interface CompiledPipeline extends Omit<Pipeline, 'actions'> {
  readonly actions: readonly BatchAction[];
  /** The proof memo first, then the actions’. None of a rotation, which Squads carries out by itself. */
  readonly instructions: readonly Instruction[];
  /** What Squads stores on chain and the votes are about: the instructions, or a rotation’s actions. */
  readonly vaultMessage: Uint8Array;
}

export interface Batch {
  readonly id: string;
  readonly projectId: string;
  readonly flywheelId: string;
  readonly tokenId: string;
  readonly kind: BatchKind;
  readonly status: BatchStatus;
  /** The Squads transaction index. Never given to other content. */
  readonly batchIndex: bigint;
  readonly pipelines: readonly CompiledPipeline[];
  /** Leased while the batch is open. */
  readonly nonce: LeasedNonce;
  /** The approval as the wallet signed it; null until execute was asked for. */
  readonly signedTx: Base64EncodedWireTransaction | null;
  readonly initResult: InitResult | null;
  readonly executeResult: ExecuteResult | null;
  readonly executionError: ExecutionIssue | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** When it became EXECUTED or FAILED. */
  readonly endedAt: Date | null;
}

type ExecutionIssueCode =
  | 'ERR_SIGNED_TX_INVALID'
  | 'ERR_VAULT_UNDERFUNDED'
  | 'ERR_BATCH_WOULD_FAIL'
  | 'ERR_BATCH_EXECUTE_FAILED';

/** An issue that keeps a requested execution from going on: the error that execute would have answered with. */
export type ExecutionIssue = {
  [Code in ExecutionIssueCode]: { readonly code: Code; readonly context: ErrorContext<Code> };
}[ExecutionIssueCode];

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

/** What the status endpoints need: a batch of a thousand pipelines is polled as cheaply as one of a single pipeline. */
export type BatchWithoutPipelines = Omit<Batch, 'pipelines'>;

/** A durable nonce and the value an approval is built on. */
export interface LeasedNonce {
  readonly address: Address;
  readonly value: Nonce;
}

/** What ended a batch: `cancelled` by its project, `rejected` by a person of the company’s. */
export type EndCause = 'executed' | 'failed' | 'expired' | 'cancelled' | 'rejected';

export type BatchEvent = 'SETUP_LANDED' | 'SETUP_FAILED' | 'EXECUTION_LANDED' | 'EXECUTION_FAILED' | 'ENDED_UNEXECUTED';

const TRANSITIONS: { readonly [S in BatchStatus]: { readonly [E in BatchEvent]?: BatchStatus } } = {
  AVAILABLE_TO_QUEUE: { SETUP_LANDED: 'FINALIZED', SETUP_FAILED: 'FAILED', ENDED_UNEXECUTED: 'FAILED' },
  FINALIZED: { EXECUTION_LANDED: 'EXECUTED', EXECUTION_FAILED: 'FAILED', ENDED_UNEXECUTED: 'FAILED' },
  EXECUTED: {},
  FAILED: {},
};

/**
 * Where an event moves a batch.
 * @throws Error for a move that does not exist: a bug of ours, since the store refuses it by its guard as well.
 */
export function nextStatus(status: BatchStatus, event: BatchEvent): BatchStatus {
  const next = TRANSITIONS[status][event];
  if (next === undefined) throw new Error(`A batch that is ${status} cannot move by ${event}.`);
  return next;
}

export function isFinal(status: BatchStatus): boolean {
  return status === 'EXECUTED' || status === 'FAILED';
}

/** Transactions sent together, recorded before they are sent. */
export interface Bundle {
  readonly id: bigint;
  readonly batchId: string;
  readonly phase: 'setup' | 'execution' | 'close';
  readonly bundleId: string;
  readonly transactions: readonly Base64EncodedWireTransaction[];
  readonly signatures: readonly string[];
  readonly lastValidBlockHeight: bigint;
  /** Zero-based position of the first pipeline it executes; 0 in the other phases. */
  readonly firstPipeline: number;
  /** How many pipelines each of its transactions executes, from that one on; those not counted execute none. */
  readonly pipelineCounts: readonly number[];
  /** Sent to a block engine, which lands all of it or nothing; otherwise its transactions went out one by one. */
  readonly isAtomic: boolean;
  /** What its last transaction pays the block engine. */
  readonly tipLamports: bigint;
  readonly state: 'sent' | 'landed' | 'failed';
  /** Of its signatures, those that landed and succeeded: all when landed, some when a bundle came apart. */
  readonly landedSignatures: readonly string[];
}

/** What one transaction of a batch cost, landed well or badly. The operator’s balance falls by fee + tip + rent out − rent back. */
export interface LedgerEntry {
  readonly signature: string;
  readonly phase: Bundle['phase'];
  readonly feeLamports: bigint;
  readonly tipLamports: bigint;
  /** Locked in Squads accounts, until they are closed. */
  readonly rentOutLamports: bigint;
  readonly rentBackLamports: bigint;
  /** What the vault paid for recipients’ token accounts. */
  readonly vaultRentLamports: bigint;
}
