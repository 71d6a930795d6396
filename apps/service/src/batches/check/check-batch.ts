import { movesTokens } from '../../compile/totals.ts';
import type { CompiledPipeline, ExecutionIssue } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import type { Deps } from '../deps.ts';
import { describeMissingFunds, type Funds, isShortOfFunds, readFunds } from './funds.ts';
import { checkNewAccounts } from './new-accounts.ts';
import { checkRecipients, type RecipientsCheck } from './recipients.ts';
import { type SimulatedFailure, simulatePipelines } from './simulate.ts';

export interface BatchCheck {
  /** Every one that was found, in the order of the batch; none when it would go through as the chain is now. */
  readonly problems: readonly BatchProblem[];
  readonly funds: Funds;
  /** What the pipelines’ instructions use by themselves, by position; those that fail, or were not tried, are missing. */
  readonly computeUnits: ReadonlyMap<number, number>;
}

export interface BatchProblem {
  readonly code: 'ERR_VAULT_UNDERFUNDED' | 'ERR_BATCH_WOULD_FAIL';
  /** In the request, e.g. `pipelines[3]`; null for the vault’s. */
  readonly place: string | null;
  /** A sentence; it does not repeat the place. */
  readonly message: string;
}

/**
 * Whether a batch would go through: each pipeline’s instructions are simulated alone, the accounts of its recipients are
 * looked at, and what they take is summed over the batch and held against the vault’s funds.
 */
export async function checkBatch(
  deps: Pick<Deps, 'chain' | 'db' | 'clock'>,
  project: Project,
  pipelines: readonly CompiledPipeline[],
): Promise<BatchCheck> {
  const [funds, recipients, newAccountProblems] = await Promise.all([
    readFunds(deps, project, pipelines),
    checkRecipients(deps, project, pipelines),
    checkNewAccounts(deps, pipelines),
  ]);
  const { multisig } = project.flywheel;
  const positions = positionsToSimulate(pipelines, funds, recipients);
  const { failures, computeUnits } = await simulatePipelines(deps, multisig, pipelines, positions);
  const shortages = describeMissingFunds(funds, project, pipelines);
  return {
    problems: [
      ...shortages.map((message) => ({ code: 'ERR_VAULT_UNDERFUNDED', place: null, message }) as const),
      ...(pipelines.some(needsTokens) ? vaultProblems(recipients) : []),
      ...recipients.problems.map(({ place, problem }) => wouldFail(place, problem)),
      ...newAccountProblems.map((message) => wouldFail(null, message)),
      ...failures
        .filter(({ err }) => shortages.length + newAccountProblems.length === 0 || !isShortOfFunds(err))
        .map((failure) => wouldFail(`pipelines[${failure.pipeline}]`, describeFailure(failure))),
    ],
    funds,
    computeUnits,
  };
}

/** An answer names this many and counts the rest: a batch may have a thousand pipelines, each with the same fault. */
const MAX_PROBLEMS_NAMED = 20;

/** What execute answers to problems, or null when there are none. Only where funds are all that is missing a deposit helps. */
export function toExecutionIssue(problems: readonly BatchProblem[]): ExecutionIssue | null {
  if (problems.length === 0) return null;
  const sentences = problems
    .slice(0, MAX_PROBLEMS_NAMED)
    .map(({ place, message }) => (place === null ? message : `${place}: ${message}`));
  const more = problems.length - sentences.length;
  const context = { problems: more > 0 ? [...sentences, `And ${more} more.`] : sentences };
  const isOnlyFunds = problems.every(({ code }) => code === 'ERR_VAULT_UNDERFUNDED');
  return { code: isOnlyFunds ? 'ERR_VAULT_UNDERFUNDED' : 'ERR_BATCH_WOULD_FAIL', context };
}

/** All but those whose failure is known and would only be said twice. */
function positionsToSimulate(
  pipelines: readonly CompiledPipeline[],
  { tokens }: Funds,
  { problems, isVaultFrozen }: RecipientsCheck,
): number[] {
  const isVaultUseless = isVaultFrozen || (tokens.available === 0n && tokens.needed > 0n);
  const faulty = new Set(problems.map(({ pipeline }) => pipeline));
  return [...pipelines.entries()].flatMap(([position, pipeline]) =>
    faulty.has(position) || (isVaultUseless && needsTokens(pipeline)) ? [] : [position],
  );
}

function needsTokens({ actions }: CompiledPipeline): boolean {
  return actions.some(movesTokens);
}

function vaultProblems({ isVaultFrozen, vaultTokenAccount }: RecipientsCheck): BatchProblem[] {
  if (!isVaultFrozen) return [];
  const message = `The vault’s token account ${vaultTokenAccount} is frozen. The mint’s freeze authority can thaw it.`;
  return [wouldFail(null, message)];
}

function wouldFail(place: string | null, message: string): BatchProblem {
  return { code: 'ERR_BATCH_WOULD_FAIL', place, message };
}

function describeFailure({ err, reason }: SimulatedFailure): string {
  return `its simulation fails${reason === null ? '' : ` (${reason})`}: ${err}.`;
}
