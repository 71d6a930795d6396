import { isDeepStrictEqual } from 'node:util';
import {
  ApiError,
  type LimitsRequest,
  type ProjectSettings,
  type ProofType,
  type ProofTypesRequest,
  type CompanyTerms as TermsBody,
} from '@flywheel/api';
import { type CompanyTerms, findReservedTypeIssue, parseAmount, toDecimal } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { Clock } from '../model/clock.ts';
import type { DailyTotals, NewProject, Project, Token } from '../model/project.ts';
import { requireSchemas, type SchemaDeps } from '../payload-schemas/check.ts';
import { findTerms, keepsRecordedTerms, termsOf } from '../store/company/terms.ts';
import type { Db } from '../store/db.ts';
import { lockProject, updateDailyLimits } from '../store/projects/projects.ts';
import { findProofTypes, replaceProofTypes } from '../store/projects/proof-types.ts';
import { requireOwnProject, requireVisibleProject } from './access.ts';
import { recordChange } from './record-change.ts';

interface SettingsDeps {
  readonly db: Db;
  readonly clock: Pick<Clock, 'now'>;
  readonly companyOperators: ReadonlySet<Address>;
}

/** @throws ApiError ERR_PROJECT_NOT_FOUND */
export async function readSettings(deps: SettingsDeps, wallet: Address, projectId: string): Promise<ProjectSettings> {
  return presentSettings(deps, await requireVisibleProject(deps, wallet, projectId));
}

/**
 * Sets the daily limits. They apply from the next init on; reservations of open batches stay. A change is logged with the
 * limits before and after; a request that changes nothing is not logged.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, also for a wallet that may only read the project; ERR_INVALID_REQUEST;
 * ERR_SETTINGS_CHANGED for other limits than those of `from`; ERR_RATE_LIMITED after too many changes in 24 hours
 */
export async function changeLimits(
  deps: SettingsDeps,
  wallet: Address,
  projectId: string,
  request: LimitsRequest,
): Promise<ProjectSettings> {
  const { token } = await requireOwnProject(deps, wallet, projectId);
  const dailyLimits = parseLimits(request, token.decimals);
  const from = request.from && parseLimits(request.from, token.decimals, 'body.from');
  return deps.db.transaction().execute(async (trx) => {
    const project = await lockOwnProject(trx, wallet, projectId);
    const [before, after] = [project.dailyLimits, dailyLimits].map((limits) => presentLimits(limits, token.decimals));
    if (!isDeepStrictEqual(before, after)) {
      requireAsRead('daily limits', project.dailyLimits, from);
      await updateDailyLimits(trx, projectId, dailyLimits);
      const entry = { actor: wallet, action: 'limits.changed', projectId, before, after } as const;
      await recordChange(trx, { at: deps.clock.now(), ...entry });
    }
    return presentSettings({ ...deps, db: trx }, { ...project, dailyLimits });
  });
}

/**
 * Replaces all proof types. They apply from the next init on. A change is logged with the types before and after; a
 * request that changes nothing is not logged.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, also for a wallet that may only read the project; ERR_INVALID_REQUEST;
 * ERR_SETTINGS_CHANGED for other types than those of `from`; ERR_SCHEMA_CHECK_UNAVAILABLE; ERR_RATE_LIMITED after
 * too many changes in 24 hours
 */
export async function changeProofTypes(
  deps: SettingsDeps & SchemaDeps,
  wallet: Address,
  projectId: string,
  { proofTypes, from }: ProofTypesRequest,
): Promise<ProjectSettings> {
  await requireOwnProject(deps, wallet, projectId);
  await requireProofTypes(deps, wallet, proofTypes);
  return deps.db.transaction().execute(async (trx) => {
    const project = await lockOwnProject(trx, wallet, projectId);
    const registered = await findProofTypes(trx, projectId);
    const [before, after] = [registered.values(), proofTypes].map((each) => ({ proofTypes: sortByType(each) }));
    if (!isDeepStrictEqual(before, after)) {
      requireAsRead('proof types', before, from && { proofTypes: sortByType(from) });
      const entry = { actor: wallet, action: 'proof-types.changed', projectId, before, after } as const;
      await recordChange(trx, { at: deps.clock.now(), ...entry });
      await replaceProofTypes(trx, projectId, proofTypes);
    }
    return presentSettings({ ...deps, db: trx }, project);
  });
}

/**
 * Refuses a change of settings that the caller has not seen.
 * @param read the settings as the caller has read them; undefined from a caller who replaces whatever there is.
 * @throws ApiError ERR_SETTINGS_CHANGED
 */
function requireAsRead<Settings>(settings: string, present: Settings, read: Settings | undefined): void {
  if (read === undefined || isDeepStrictEqual(present, read)) return;
  throw new ApiError('ERR_SETTINGS_CHANGED', { settings });
}

/** Presents the settings that a project registers and changes by itself. */
export function presentOwnSettings({ scopes, dailyLimits, proofTypes, approvalMode, token }: NewProject) {
  return {
    scopes: [...scopes],
    ...presentLimits(dailyLimits, token.decimals),
    proofTypes: sortByType(proofTypes.values()),
    approvalMode,
  };
}

/** Presents terms of the company as the wire does. */
export function presentTerms(
  { approvalMode, ...limits }: CompanyTerms,
  { decimals }: Pick<Token, 'decimals'>,
): TermsBody {
  return { approvalMode, ...presentLimits(limits, decimals) };
}

/** @throws ApiError ERR_INVALID_REQUEST as `parseLimits`. */
export function parseTerms(
  field: string,
  { approvalMode, ...limits }: TermsBody,
  { decimals }: Pick<Token, 'decimals'>,
): CompanyTerms {
  return { approvalMode, ...parseLimits(limits, decimals, `body.${field}`) };
}

/**
 * Parses limits that a person has typed.
 * @throws ApiError ERR_INVALID_REQUEST for more fraction digits than the mint has, or more than a token account can hold.
 */
export function parseLimits({ burnLimit, airdropLimit }: LimitsRequest, decimals: number, place = 'body'): DailyTotals {
  return {
    burnBaseUnits: parseLimit(`${place}.burnLimit`, burnLimit, decimals),
    airdropBaseUnits: parseLimit(`${place}.airdropLimit`, airdropLimit, decimals),
  };
}

/** @throws ApiError ERR_INVALID_REQUEST for a type that is reserved or listed twice, and those of `requireSchemas`. */
export async function requireProofTypes(
  deps: SchemaDeps,
  wallet: Address,
  proofTypes: readonly ProofType[],
): Promise<void> {
  const seen = new Set<string>();
  for (const [i, { type }] of proofTypes.entries()) {
    const place = `body.proofTypes[${i}]`;
    if (seen.has(type)) throw new ApiError('ERR_INVALID_REQUEST', { place, problem: `repeats the type ${type}.` });
    const problem = findReservedTypeIssue(type);
    if (problem !== null) throw new ApiError('ERR_INVALID_REQUEST', { place: `${place}.type`, problem });
    seen.add(type);
  }
  await requireSchemas(deps, wallet, proofTypes);
}

async function presentSettings(
  deps: Pick<SettingsDeps, 'db' | 'companyOperators'>,
  project: Project,
): Promise<ProjectSettings> {
  const recorded = await findTerms(deps.db, project.flywheel.multisig.address, { isKept: keepsRecordedTerms(deps) });
  const proofTypes = await findProofTypes(deps.db, project.id);
  return {
    ...presentOwnSettings({ ...project, proofTypes }),
    companyTerms: presentTerms(recorded ?? termsOf(project), project.token),
  };
}

/** Locks the project, so that simultaneous changes happen one after another, each logged with what it replaced. */
async function lockOwnProject(trx: Db, wallet: Address, projectId: string): Promise<Project> {
  const project = await lockProject(trx, wallet, projectId);
  if (!project) throw new ApiError('ERR_PROJECT_NOT_FOUND', { projectId });
  return project;
}

/** Sorts proof types by name, so that the order in which they were stored does not matter. */
function sortByType(proofTypes: Iterable<ProofType>): ProofType[] {
  return [...proofTypes].toSorted((a, b) => (a.type < b.type ? -1 : 1));
}

function presentLimits({ burnBaseUnits, airdropBaseUnits }: DailyTotals, decimals: number): LimitsRequest {
  return { burnLimit: toDecimal(burnBaseUnits, decimals), airdropLimit: toDecimal(airdropBaseUnits, decimals) };
}

function parseLimit(place: string, limitTokens: string, decimals: number): bigint {
  try {
    return parseAmount(limitTokens, decimals);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new ApiError('ERR_INVALID_REQUEST', { place, problem: cause.message }, { cause });
  }
}
