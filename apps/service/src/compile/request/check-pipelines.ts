import { type Action, ApiError, type ErrorContext, type Pipeline, type Scope } from '@flywheel/api';
import {
  describeReservedAddress,
  findReservedTypeIssue,
  findWalletIssue,
  isReservedMemo,
  parseAmountNumber,
} from '@flywheel/protocol';
import { mapInSlices } from '../../model/in-slices.ts';
import { formatRequestPath } from '../../model/input-issue.ts';
import type { Project, RegisteredTypes } from '../../model/project.ts';

export interface PipelineRules {
  /** Scopes of the API key. */
  readonly scopes: ReadonlySet<Scope>;
  readonly token: Pick<Project['token'], 'decimals'>;
  readonly proofTypes: RegisteredTypes;
}

/**
 * Checks parsed pipelines against the rules of their project, in this order over the whole request: amounts and addresses,
 * scopes, proof types. `checkPayloads` checks the payloads, `compilePipelines` the size and `admitBatch` the daily limits.
 * @throws ApiError ERR_FLYWHEEL_INVALID_ACTION, ERR_KEY_SCOPES_UNAUTHORIZED or ERR_FLYWHEEL_INVALID_PROOF_TYPE.
 */
export async function checkPipelines(
  pipelines: readonly Pipeline[],
  { scopes, token, proofTypes }: PipelineRules,
): Promise<void> {
  // A body may hold 23,000 airdrops, whose addresses take 0.15 s.
  await mapInSlices([...placedActions(pipelines)], ({ action, path }) => checkAction(action, path, token.decimals));
  for (const { action, path } of placedActions(pipelines)) checkScope(action, path, scopes);
  checkProofTypes(pipelines, proofTypes);
}

type Path = readonly (string | number)[];

function* placedActions(pipelines: readonly Pipeline[]): Generator<{ action: Action; path: Path }> {
  for (const [index, { actions }] of pipelines.entries()) {
    for (const [position, action] of actions.entries())
      yield { action, path: ['pipelines', index, 'actions', position] };
  }
}

function checkAction(action: Action, path: Path, decimals: number): void {
  if (action.action === 'AIRDROP') checkRecipient(action.toAddress, path);
  if (action.action === 'MEMO') checkMemo(action.message, path);
  else checkAmount(action.amount, path, decimals);
}

/** The prefix belongs to the proof memos that the service writes itself. */
function checkMemo(message: string, path: Path): void {
  if (!isReservedMemo(message)) return;
  const problem = 'begins with "flywheel:", which is reserved for proof memos.';
  throw invalidAction({ place: formatRequestPath([...path, 'message']), problem });
}

function checkRecipient(toAddress: string, path: Path): void {
  const invalid = (problem: string) =>
    invalidAction({ place: formatRequestPath([...path, 'toAddress']), problem, recipient: toAddress });
  const reserved = describeReservedAddress(toAddress);
  if (reserved !== null) throw invalid(`${toAddress} is ${reserved}, not a wallet.`);
  // Only a program, if anyone, could move tokens that are sent to an address off the curve.
  const problem = findWalletIssue(toAddress);
  if (problem !== null) throw invalid(problem);
}

function checkAmount(amountTokens: number, path: Path, decimals: number): void {
  try {
    parseAmountNumber(amountTokens, decimals);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw invalidAction({ place: formatRequestPath([...path, 'amount']), problem: cause.message });
  }
}

/** A memo moves no tokens and needs no scope. */
const NEEDED_SCOPE = { BURN: 'burn', AIRDROP: 'airdrop', MEMO: null } as const satisfies {
  readonly [A in Action['action']]: Scope | null;
};

function checkScope({ action }: Action, path: Path, scopes: ReadonlySet<Scope>): void {
  const scope = NEEDED_SCOPE[action];
  if (scope !== null && !scopes.has(scope)) {
    throw new ApiError('ERR_KEY_SCOPES_UNAUTHORIZED', { place: formatRequestPath(path), action, scope });
  }
}

function checkProofTypes(pipelines: readonly Pipeline[], proofTypes: RegisteredTypes): void {
  for (const [index, { type }] of pipelines.entries()) {
    // A project may have registered such a type before it was reserved.
    const problem = findReservedTypeIssue(type);
    if (problem !== null) throw invalidType(index, problem);
  }
  if (proofTypes.size === 0) return;
  const index = pipelines.findIndex(({ type }) => !proofTypes.has(type));
  const unknown = pipelines[index];
  if (!unknown) return;
  const listed = [...proofTypes.keys()].slice(0, MAX_LISTED_TYPES).join(', ');
  const more = proofTypes.size > MAX_LISTED_TYPES ? ` and ${proofTypes.size - MAX_LISTED_TYPES} more` : '';
  throw invalidType(index, `${unknown.type} is not registered; this project has ${listed}${more}.`);
}

/** Enough to notice a typing error. */
const MAX_LISTED_TYPES = 20;

function invalidType(pipeline: number, problem: string): ApiError<'ERR_FLYWHEEL_INVALID_PROOF_TYPE'> {
  return new ApiError('ERR_FLYWHEEL_INVALID_PROOF_TYPE', {
    place: formatRequestPath(['pipelines', pipeline, 'type']),
    problem,
  });
}

function invalidAction(issue: ErrorContext<'ERR_FLYWHEEL_INVALID_ACTION'>): ApiError<'ERR_FLYWHEEL_INVALID_ACTION'> {
  return new ApiError('ERR_FLYWHEEL_INVALID_ACTION', issue);
}
