import { type Action, ApiError, type ErrorContext, type Pipeline, type Scope } from '@flywheel/api';
import { isAddress, isOffCurveAddress } from '@solana/kit';
import { toBaseUnits } from '../../model/amount.ts';
import type { Project } from '../../model/project.ts';
import { checkPayloads } from './payload-schema.ts';
import { placeOf } from './place.ts';

export interface PipelineRules {
  /** Of the API key. */
  readonly scopes: ReadonlySet<Scope>;
  readonly token: Pick<Project['token'], 'decimals'>;
  readonly proofTypes: Project['proofTypes'];
}

/**
 * Checks parsed pipelines against their project, in this order over the whole request: amounts and addresses, scopes,
 * proof types. Size and daily limits come after: `compilePipelines`, and the store.
 * @throws ApiError ERR_FLYWHEEL_INVALID_ACTION, ERR_KEY_SCOPES_UNAUTHORIZED or ERR_FLYWHEEL_INVALID_PROOF_TYPE.
 */
export function checkPipelines(pipelines: readonly Pipeline[], { scopes, token, proofTypes }: PipelineRules): void {
  for (const { action, path } of placedActions(pipelines)) checkAction(action, path, token.decimals);
  for (const { action, path } of placedActions(pipelines)) checkScope(action, path, scopes);
  checkProofTypes(pipelines, proofTypes);
  checkPayloads(pipelines, proofTypes);
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
  if (action.action !== 'MEMO') checkAmount(action.amount, path, decimals);
}

function checkRecipient(toAddress: string, path: Path): void {
  const invalid = (problem: string) => invalidAction({ place: placeOf([...path, 'toAddress']), problem });
  if (!isAddress(toAddress)) throw invalid('is no address: base58 of 32 bytes is needed.');
  // Tokens sent to an address off the curve would belong to a program, if to anyone.
  if (isOffCurveAddress(toAddress)) throw invalid(`${toAddress} is off the curve: no wallet has this address.`);
}

function checkAmount(amountTokens: number, path: Path, decimals: number): void {
  try {
    toBaseUnits(amountTokens, decimals);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw invalidAction({ place: placeOf([...path, 'amount']), problem: cause.message });
  }
}

/** A memo moves nothing and needs none. */
const NEEDED_SCOPE = { BURN: 'burn', AIRDROP: 'airdrop', MEMO: null } as const satisfies {
  readonly [A in Action['action']]: Scope | null;
};

function checkScope({ action }: Action, path: Path, scopes: ReadonlySet<Scope>): void {
  const scope = NEEDED_SCOPE[action];
  if (scope !== null && !scopes.has(scope)) {
    throw new ApiError('ERR_KEY_SCOPES_UNAUTHORIZED', { place: placeOf(path), action, scope });
  }
}

function checkProofTypes(pipelines: readonly Pipeline[], proofTypes: Project['proofTypes']): void {
  if (proofTypes.size === 0) return;
  const index = pipelines.findIndex(({ type }) => !proofTypes.has(type));
  const unknown = pipelines[index];
  if (!unknown) return;
  const listed = [...proofTypes.keys()].slice(0, MAX_LISTED_TYPES).join(', ');
  const more = proofTypes.size > MAX_LISTED_TYPES ? ` and ${proofTypes.size - MAX_LISTED_TYPES} more` : '';
  throw new ApiError('ERR_FLYWHEEL_INVALID_PROOF_TYPE', {
    place: placeOf(['pipelines', index, 'type']),
    problem: `${unknown.type} is not registered; this project has ${listed}${more}.`,
  });
}

/** Enough to see a slip of the pen without a page of text. */
const MAX_LISTED_TYPES = 20;

function invalidAction(fault: ErrorContext<'ERR_FLYWHEEL_INVALID_ACTION'>): ApiError<'ERR_FLYWHEEL_INVALID_ACTION'> {
  return new ApiError('ERR_FLYWHEEL_INVALID_ACTION', fault);
}
