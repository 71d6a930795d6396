import { ApiError, type BatchStatus } from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { ExecutionIssue } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import type { BatchRecord } from '../../store/batches/batch-records.ts';
import { explainChainError } from './chain-error.ts';
import type { BatchReport } from './read-report.ts';

/** What is wrong with a batch, for a person. */
export interface Failure {
  /** What happened, a sentence. */
  readonly message: string;
  /** What to do about it, a sentence or two. */
  readonly remedy: string;
  /** As execute answers it; null where it answers a result. */
  readonly code: string | null;
  /** Zero-based position of the pipeline at fault. */
  readonly pipeline: number | null;
  /** False: it is held up, and goes on when the cause is mended. */
  readonly isFinal: boolean;
}

/** Why a batch failed, or what holds it up; null for one that is well. */
export function failureOf(report: BatchReport, { flywheel: { multisig } }: Project): Failure | null {
  const { status, executionError, signedTx } = report.record;
  if (status === 'FAILED') return failureOfEnd(report);
  if (executionError === null) return null;
  return {
    message: describeExecutionIssue(executionError, status),
    remedy: remedyOfExecutionIssue(executionError, signedTx !== null, multisig.vault),
    code: executionError.code,
    pipeline: null,
    isFinal: false,
  };
}

/** What holds a batch up, a sentence. */
export function describeExecutionIssue(issue: ExecutionIssue, status: BatchStatus): string {
  switch (issue.code) {
    case 'ERR_VAULT_UNDERFUNDED':
      return issue.context.problems.join(' ');
    case 'ERR_BATCH_WOULD_FAIL':
      return new ApiError(issue.code, issue.context).message;
    case 'ERR_SIGNED_TX_INVALID':
      return `The approval was not accepted: ${issue.context.problem}`;
    case 'ERR_BATCH_EXECUTE_FAILED': {
      const what = status === 'AVAILABLE_TO_QUEUE' ? 'Setting the batch up on chain' : 'The execution';
      return `${what} is held up for a reason of the service’s own.`;
    }
    default:
      throw issue satisfies never;
  }
}

/** `goesOn`: the request was kept, and is tried again by itself. */
function remedyOfExecutionIssue({ code }: ExecutionIssue, goesOn: boolean, vault: Address): string {
  switch (code) {
    case 'ERR_VAULT_UNDERFUNDED': {
      const then = goesOn
        ? '; it goes on by itself within seconds.'
        : ', then execute again: the approval stays valid.';
      return `Deposit the rest into ${vault}${then}`;
    }
    case 'ERR_BATCH_WOULD_FAIL':
      return goesOn
        ? 'It is tried again every few seconds. Mend what is named, or cancel the batch and send the other pipelines anew.'
        : 'Mend what is named, then execute again; or cancel the batch and send the other pipelines anew.';
    case 'ERR_SIGNED_TX_INVALID':
      return 'Open the approval again, sign it, and execute.';
    case 'ERR_BATCH_EXECUTE_FAILED':
      return 'Nothing to do: it is tried again every few seconds. If it stays so, tell the company.';
    default:
      throw code satisfies never;
  }
}

function failureOfEnd({ record, executed }: BatchReport): Failure {
  const { executeResult, initResult, hasBegun, company, pipelineCount } = record;
  const said = executeResult?.failedTxMsg ?? initResult?.failedTxMsg ?? 'The batch failed.';
  const pipeline = executeResult?.failedOnTransactionIndex ?? null;
  const isRejected = company.reason !== null;
  return {
    message: isRejected ? `The company rejected the batch: ${company.reason}` : explainChainError(said),
    remedy: `${standing(executed)}${remedyOfEnd(record, pipeline, pipelineCount - executed)}`,
    code: hasBegun ? null : 'ERR_BATCH_NOT_EXECUTABLE',
    pipeline,
    isFinal: true,
  };
}

function standing(executed: number): string {
  if (executed === 0) return '';
  return executed === 1 ? 'The first pipeline stands on chain. ' : `The first ${executed} pipelines stand on chain. `;
}

function remedyOfEnd({ company, endCause }: BatchRecord, pipeline: number | null, left: number): string {
  const limits = 'What it had not used of the day’s limits was given back.';
  if (pipeline !== null) {
    const rest = left > 1 ? ` and the ${left - 1} after it` : '';
    return `Mend pipelines[${pipeline}], then send it${rest} in a new batch. ${limits}`;
  }
  if (company.reason !== null) return `Change what the company named and send a new batch. ${limits}`;
  switch (endCause) {
    case 'cancelled':
      return `Nothing more to do. ${limits}`;
    case 'expired':
      return `Send the pipelines again in a new batch, and approve it in time. ${limits}`;
    default:
      return `Send the pipelines again in a new batch, with a new idempotency key. ${limits}`;
  }
}
