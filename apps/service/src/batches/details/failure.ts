import { pluralize } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { describeExecutionIssue, describeRejection, type ExecutionIssue } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import type { BatchRecord } from '../../store/batches/batch-records.ts';
import type { BatchDetails } from './details.ts';

/** Explains to a person why a batch failed or what holds it up. */
export interface Failure {
  /** A sentence about what happened. */
  readonly message: string;
  /** TransactionError as JSON text, for further investigation; null if the chain reported none. */
  readonly chainError: string | null;
  /** One or two sentences about what to do. */
  readonly remedy: string;
  /** Code that execute answers; null if it answers a result instead. */
  readonly code: string | null;
  /** Zero-based position of the failed pipeline. */
  readonly pipeline: number | null;
  /** False when the batch is only held up, and continues once the cause is gone. */
  readonly isFinal: boolean;
}

/** Explains why a batch failed or what holds it up; null for neither. */
export function describeFailure(details: BatchDetails, { flywheel: { multisig } }: Project): Failure | null {
  const { status, executionError, signedTx } = details.record;
  if (status === 'FAILED') return describeFailedBatch(details);
  if (executionError === null) return null;
  return {
    message: describeExecutionIssue(executionError, status),
    chainError: null,
    remedy: remedyOfExecutionIssue(executionError, signedTx !== null, multisig.vault),
    code: executionError.code,
    pipeline: null,
    isFinal: false,
  };
}

/**
 * Adds the meaning of a TransactionError to a sentence that quotes it, where the meaning is known. The quote stays in the
 * sentence for further investigation.
 */
export function explainChainError(sentence: string): string {
  const { before, err, meaning } = splitQuote(sentence);
  return meaning === undefined ? sentence : `${before}: ${meaning} (${err}).`;
}

/**
 * Turns the text with which a batch failed into a sentence for a screen: the meaning of a TransactionError takes the place of
 * its JSON text, which is returned apart from the sentence, and `pipelines[2]` becomes `pipeline 2`, as the screens name it.
 */
export function describeFailedTx(text: string): Pick<Failure, 'message' | 'chainError'> {
  const { before, err = null, meaning } = splitQuote(text);
  const reason = meaning === undefined ? '' : `: ${meaning}`;
  const sentence = err === null ? text : `${before}${reason}.`;
  const message = sentence.replace(
    /pipelines\[(\d+)\]/g,
    (_, position, at) => `${at === 0 ? 'Pipeline' : 'pipeline'} ${position}`,
  );
  return { message, chainError: err };
}

interface Quote {
  /** The sentence before its quote; undefined without a quote. */
  readonly before?: string | undefined;
  /** TransactionError as JSON text. */
  readonly err?: string | undefined;
  readonly meaning?: string | undefined;
}

function splitQuote(sentence: string): Quote {
  const [, before, err] = /^(.*?): (\{.*\}|"[A-Za-z]+")\.?$/s.exec(sentence) ?? [];
  if (err === undefined) return {};
  return { before, err, meaning: MEANINGS.find(([pattern]) => pattern.test(err))?.[1] };
}

/** Error codes of the token programs (spl-token, `TokenError`). No other program that a vault executes uses codes. */
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [/"Custom":1\}/, 'the account it pays from holds too little'],
  [/"Custom":3\}/, 'a token account is of another mint'],
  [/"Custom":4\}/, 'a token account belongs to another owner'],
  [/"Custom":17\}/, 'a token account that it needs is frozen'],
  [/"Custom":36\}/, 'a token account demands a memo with each transfer'],
  [/InsufficientFundsForRent/, 'an account would be left with less than its rent'],
  [/ComputationalBudgetExceeded|ProgramFailedToComplete/, 'it takes more compute units than a transaction may'],
  [/InvalidAccountData|UninitializedAccount/, 'an account that it needs is closed or has changed'],
];

/** @param isRetried the service keeps the request and retries it by itself. */
function remedyOfExecutionIssue(issue: ExecutionIssue, isRetried: boolean, vault: Address): string {
  switch (issue.code) {
    case 'ERR_VAULT_UNDERFUNDED': {
      const then = isRetried
        ? '. The batch continues by itself within seconds.'
        : ', then execute again: the approval stays valid.';
      return `Deposit the missing amount into ${vault}${then}`;
    }
    case 'ERR_BATCH_WOULD_FAIL':
      return isRetried
        ? 'It is retried every few seconds. Fix the cause, or cancel the batch and send the other pipelines in a new one.'
        : 'Fix the cause, then execute again; or cancel the batch and send the other pipelines in a new one.';
    case 'ERR_SIGNED_TX_INVALID':
      return 'Open the approval again, sign it, and execute.';
    case 'ERR_BATCH_EXECUTE_FAILED':
      return issue.reason === undefined
        ? 'Nothing to do: it is retried every few seconds. If it does not recover, contact the company.'
        : 'It continues by itself when the cause is gone. If it does not, contact the company.';
    default:
      throw issue satisfies never;
  }
}

function describeFailedBatch({ record, executed }: BatchDetails): Failure {
  const { executeResult, initResult, hasBegun, company, pipelineCount } = record;
  const reason = executeResult?.failedTxMsg ?? initResult?.failedTxMsg ?? 'The batch failed.';
  const pipeline = executeResult?.failedOnTransactionIndex ?? null;
  return {
    ...(company.reason !== null
      ? { message: describeRejection(company.reason), chainError: null }
      : describeFailedTx(reason)),
    remedy: `${describeExecuted(executed)}${remedyOfEnd(record, pipeline, pipelineCount - executed)}`,
    code: hasBegun ? null : 'ERR_BATCH_NOT_EXECUTABLE',
    pipeline,
    isFinal: true,
  };
}

function describeExecuted(executed: number): string {
  if (executed === 0) return '';
  return executed === 1 ? 'The first pipeline was executed. ' : `The first ${executed} pipelines were executed. `;
}

function remedyOfEnd({ company, endCause, executeResult }: BatchRecord, pipeline: number | null, left: number): string {
  const limits = 'What it did not use of the daily limits is released.';
  const failedRecipient = executeResult?.failedRecipient;
  if (pipeline !== null) {
    const rest = left > 1 ? ` and the ${left - 1} after it` : '';
    if (failedRecipient) {
      const others = left > 1 ? `Send the ${pluralize(left - 1, 'pipeline')} after it in a new batch. ` : '';
      return `${others}Until ${failedRecipient.recipient} is paid, a batch that pays it may pay no other recipient. ${limits}`;
    }
    return `Fix pipeline ${pipeline}, then send it${rest} in a new batch. ${limits}`;
  }
  if (company.reason !== null) return `Resolve what the company names, and send a new batch. ${limits}`;
  switch (endCause) {
    case 'cancelled':
      return left > 0 ? `The pipelines that were not executed will not run. ${limits}` : limits;
    case 'expired':
      return `Send the pipelines in a new batch, and approve it in time. ${limits}`;
    default:
      return `Send the pipelines in a new batch, with a new idempotency key. ${limits}`;
  }
}
