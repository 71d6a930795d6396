import { type Address, address } from '@solana/kit';
import type { BatchAction, CompiledPipeline } from '../../model/batch.ts';
import { isShortOfFunds } from './funds.ts';

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
  let next = 1; // after the proof memo
  for (const [position, action] of actions.entries()) {
    next += countInstructions(action);
    if (instruction === 0 || instruction >= next) continue;
    return { position, recipient: isCausedByRecipient(action, err) ? address(action.toAddress) : null };
  }
  return null;
}

/**
 * Reads from the logs of an execution which instruction of the pipeline failed. Squads runs them one after another at the
 * second level; the last one that was invoked is the one that failed. Null for logs that are absent or cut.
 */
export function instructionOfLogs(logs: readonly string[]): number | null {
  if (logs.some((line) => line.startsWith('Log truncated'))) return null;
  const invoked = logs.filter((line) => line.startsWith('Program ') && line.endsWith(' invoke [2]')).length;
  return invoked === 0 ? null : invoked - 1;
}

/** Counts what `compileAction` makes of an action: a transfer also creates the token account. */
function countInstructions(action: BatchAction): number {
  return action.action === 'AIRDROP' || (action.action === 'WITHDRAW' && action.asset === 'TOKEN') ? 2 : 1;
}

/** A recipient can refuse an airdrop, but cannot cause the errors of the vault's funds, the mint or the transaction. */
function isCausedByRecipient(action: BatchAction, err: string): action is BatchAction & { readonly action: 'AIRDROP' } {
  return action.action === 'AIRDROP' && !isShortOfFunds(err) && !OTHER_CAUSES.test(err);
}

/** Token-2022's `MintPaused` (its error 67), and what a transaction may use. */
const OTHER_CAUSES = /"Custom":67\}|ComputationalBudgetExceeded|ProgramFailedToComplete|MaxAccountsDataAllocations/;
