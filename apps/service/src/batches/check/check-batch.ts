import type { ErrorCode, Problem } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { movesTokens } from '../../compile/totals.ts';
import type { CompiledPipeline, ExecutionIssue } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import { isShortOfFunds } from '../../model/transaction-error.ts';
import type { Deps } from '../deps.ts';
import { findFailedAction } from './failed-recipient.ts';
import { describeMissingFunds, type Funds, readFunds } from './funds.ts';
import { checkNewAccounts, checkRecipients, type RecipientsCheck } from './recipients.ts';
import { type SimulatedFailure, simulatePipelines } from './simulate.ts';

export interface BatchCheck {
  /** All issues found, in the order of the batch; empty when the batch would succeed in the chain's current state. */
  readonly issues: readonly BatchIssue[];
  readonly funds: Funds;
  /** Compute units of each pipeline's own instructions, by position; without those that failed or were not simulated. */
  readonly computeUnits: ReadonlyMap<number, number>;
}

export interface BatchIssue {
  readonly code: 'ERR_VAULT_UNDERFUNDED' | 'ERR_BATCH_WOULD_FAIL';
  /** Path in the request, e.g. `pipelines[3]`; null for an issue of the vault or of the mint. */
  readonly place: string | null;
  /** A sentence that does not repeat the place. */
  readonly message: string;
  /** The recipient that causes it; null for other causes. */
  readonly recipient: Address | null;
}

/**
 * Checks whether a batch would succeed on chain now: reads the vault's funds and the recipients' accounts, and simulates
 * the instructions of each pipeline on their own.
 */
export async function checkBatch(
  deps: Pick<Deps, 'chain' | 'db' | 'clock'>,
  project: Project,
  pipelines: readonly CompiledPipeline[],
): Promise<BatchCheck> {
  const [read, recipients, newAccountIssues] = await Promise.all([
    readFunds(deps, project, pipelines),
    checkRecipients(deps, project, pipelines),
    checkNewAccounts(deps, pipelines),
  ]);
  const { multisig } = project.flywheel;
  const positions = positionsToSimulate(pipelines, read, recipients);
  const { failures, computeUnits } = await simulatePipelines(deps, multisig, pipelines, positions);
  // The vault may have paid for another batch after its balances were read.
  const isOutdated = failures.some(({ err }) => isShortOfFunds(err));
  const funds = isOutdated ? await readFunds(deps, project, pipelines) : read;
  const shortages = describeMissingFunds(funds, project, pipelines);
  return {
    issues: [
      ...shortages.map(
        (message) => ({ code: 'ERR_VAULT_UNDERFUNDED', place: null, message, recipient: null }) as const,
      ),
      ...(pipelines.some(needsTokens) ? vaultIssues(recipients) : []),
      ...(pipelines.some(hasAirdrop) ? mintIssues(funds, project) : []),
      ...recipients.issues.map(({ place, message, recipient }) => wouldFail(place, message, recipient)),
      ...newAccountIssues.map((message) => wouldFail(null, message)),
      ...failures
        .filter(({ err }) => shortages.length + newAccountIssues.length === 0 || !isShortOfFunds(err))
        .map((failure) => simulationIssue(failure, pipelines[failure.pipeline])),
    ],
    funds,
    computeUnits,
  };
}

/** An error of execute names this many issues: a thousand pipelines may all have the same one. */
const MAX_ISSUES_NAMED = 20;

/** Combines issues into the error that execute answers; null for none. A deposit helps only if all issues are about funds. */
export function toExecutionIssue(issues: readonly BatchIssue[]): ExecutionIssue | null {
  if (issues.length === 0) return null;
  const isOnlyFunds = issues.every(({ code }) => code === 'ERR_VAULT_UNDERFUNDED');
  return {
    code: isOnlyFunds ? 'ERR_VAULT_UNDERFUNDED' : 'ERR_BATCH_WOULD_FAIL',
    context: listProblems(issues, MAX_ISSUES_NAMED),
  };
}

/**
 * An error's data lists more issues than its sentence, so that a program can leave out all recipients at once. Each
 * takes about 250 bytes.
 */
const MAX_DETAILS = 1_000;

/**
 * Lists issues for an error: the first ones as sentences, then how many are left out, and up to a thousand as data.
 * @param toSentence by default, a sentence begins with the place of its issue.
 */
export function listProblems(
  issues: readonly CodedIssue[],
  maxNamed: number,
  toSentence: (issue: CodedIssue) => string = withPlace,
) {
  const more = issues.length - maxNamed;
  const sentences = issues.slice(0, maxNamed).map(toSentence);
  return {
    problems: more > 0 ? [...sentences, `And ${more} more.`] : sentences,
    details: issues.slice(0, MAX_DETAILS).map(toProblem),
  };
}

function withPlace({ place, message }: CodedIssue): string {
  return place === null ? message : `${place}: ${message}`;
}

/** An issue with the code of any error. */
export type CodedIssue = Omit<BatchIssue, 'code'> & { readonly code: ErrorCode };

/** Presents an issue as data. */
export function toProblem({ code, place, message, recipient }: CodedIssue): Problem {
  return { code, ...(place !== null && { place }), message, ...(recipient !== null && { recipient }) };
}

/** Leaves out pipelines that have an issue already, or whose vault or mint has one: their simulation would only report it again. */
function positionsToSimulate(
  pipelines: readonly CompiledPipeline[],
  { tokens, mintProblem }: Funds,
  { issues, isVaultFrozen }: RecipientsCheck,
): number[] {
  const canVaultPay = !isVaultFrozen && (tokens.available > 0n || tokens.needed === 0n);
  const withIssue = new Set(issues.map(({ pipeline }) => pipeline));
  return [...pipelines.entries()].flatMap(([position, pipeline]) =>
    withIssue.has(position) || (!canVaultPay && needsTokens(pipeline)) || (mintProblem !== null && hasAirdrop(pipeline))
      ? []
      : [position],
  );
}

function needsTokens({ actions }: CompiledPipeline): boolean {
  return actions.some(movesTokens);
}

function hasAirdrop({ actions }: CompiledPipeline): boolean {
  return actions.some(({ action }) => action === 'AIRDROP');
}

function vaultIssues({ isVaultFrozen, vaultTokenAccount }: RecipientsCheck): BatchIssue[] {
  if (!isVaultFrozen) return [];
  const message = `The vault’s token account ${vaultTokenAccount} is frozen. The mint’s freeze authority can thaw it.`;
  return [wouldFail(null, message)];
}

/** An issuer may have changed the mint since the registration. A transfer fee, for one, fails no simulation. */
function mintIssues({ mintProblem }: Funds, { token }: Project): BatchIssue[] {
  return mintProblem === null ? [] : [wouldFail(null, `The mint ${token.mint} ${mintProblem}`)];
}

function wouldFail(place: string | null, message: string, recipient: Address | null = null): BatchIssue {
  return { code: 'ERR_BATCH_WOULD_FAIL', place, message, recipient };
}

function simulationIssue(
  { pipeline: position, instruction, err, reason }: SimulatedFailure,
  pipeline: CompiledPipeline | undefined,
): BatchIssue {
  const failed = pipeline && instruction !== null ? findFailedAction(pipeline, instruction, err) : null;
  const place = `pipelines[${position}]${failed === null ? '' : `.actions[${failed.position}]`}`;
  const message = `its simulation fails${reason === null ? '' : ` (${reason})`}: ${err}.`;
  return wouldFail(place, message, failed?.recipient);
}
