import type { RecipientFailure } from '@flywheel/api';
import { address } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { Batch, BatchAction, CompiledPipeline } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import { isShortOfFunds, mayBeCausedByRecipient } from '../../model/transaction-error.ts';
import { readMint } from '../../solana/mint.ts';
import type { Deps } from '../deps.ts';
import { explainChainError } from '../details/failure.ts';
import { checkRecipients } from './recipients.ts';

/** How the execution of a pipeline failed. */
interface PipelineFailure {
  /** Zero-based position. */
  readonly pipeline: number;
  /** The TransactionError as JSON text. */
  readonly err: string;
  /** Logs of the transaction that failed, or of its simulation. */
  readonly logs: readonly string[];
}

/**
 * Finds the recipient that made a pipeline fail on chain; null if the cause is another one. The logs decide, because a
 * recipient can undo in the next block what made the transfer fail; the accounts give the reason if they still show it.
 */
export async function findFailedRecipient(
  deps: Pick<Deps, 'chain' | 'db' | 'clock'>,
  project: Project,
  { pipelines }: Pick<Batch, 'pipelines'>,
  { pipeline, err, logs }: PipelineFailure,
): Promise<RecipientFailure | null> {
  const compiled = pipelines[pipeline];
  if (compiled === undefined || isShortOfFunds(err)) return null;
  const [{ issues, isVaultFrozen }, mint] = await Promise.all([
    checkRecipients(deps, project, [compiled]),
    readMint(deps.chain, project.token.mint),
  ]);
  // An issuer may have changed the mint, for example so that it freezes new token accounts.
  if (isVaultFrozen || 'problem' in mint) return null;
  const instruction = instructionOfLogs(logs);
  if (instruction === null) {
    const [issue] = issues;
    return issue ? { pipeline, action: issue.action, recipient: issue.recipient, reason: issue.message } : null;
  }
  const failed = findFailedAction(compiled, instruction, err);
  if (!failed?.recipient) return null;
  const { position: action, recipient } = failed;
  const reason =
    issues.find((issue) => issue.action === action)?.message ??
    explainChainError(`${recipient} could not receive the tokens: ${err}`);
  return { pipeline, action, recipient, reason };
}

/** An action that failed on chain or in a simulation. */
export interface FailedAction {
  /** Zero-based position in its pipeline. */
  readonly position: number;
  /** The recipient whose account refused the tokens; null when the cause is another one. */
  readonly recipient: Address | null;
}

/**
 * Finds the action that an instruction of a pipeline belongs to. Null for the proof memo.
 * @param instruction zero-based position among the pipeline's instructions.
 * @param err the TransactionError as JSON text.
 */
export function findFailedAction(
  { actions }: Pick<CompiledPipeline, 'actions'>,
  instruction: number,
  err: string,
): FailedAction | null {
  if (instruction === 0) return null;
  let end = 1; // after the proof memo
  for (const [position, action] of actions.entries()) {
    end += countInstructions(action);
    if (instruction < end) {
      return { position, recipient: isCausedByRecipient(action, err) ? address(action.toAddress) : null };
    }
  }
  return null;
}

/**
 * Reads from the logs of an execution which instruction of the pipeline failed. Squads calls them in order, one level
 * below itself, so the last one that was called is the one that failed. Null for logs that are absent or cut.
 */
function instructionOfLogs(logs: readonly string[]): number | null {
  if (logs.some((line) => line.startsWith('Log truncated'))) return null;
  const called = logs.filter((line) => /^Program \w+ invoke \[2\]$/.test(line)).length;
  return called === 0 ? null : called - 1;
}

/** Counts what `compileAction` makes of an action: a transfer also creates the token account. */
function countInstructions(action: BatchAction): number {
  return action.action === 'AIRDROP' || (action.action === 'WITHDRAW' && action.asset === 'TOKEN') ? 2 : 1;
}

/** A recipient can refuse an airdrop, but cannot cause the errors of the vault's funds, the mint or the transaction. */
function isCausedByRecipient(action: BatchAction, err: string): action is Extract<BatchAction, { action: 'AIRDROP' }> {
  return action.action === 'AIRDROP' && mayBeCausedByRecipient(err);
}
