import { isDeepStrictEqual } from 'node:util';
import { ApiError, type AuditAction, type LimitsRequest, type ProjectSettings, type ProofType } from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { Clock } from '../../model/clock.ts';
import type { Project } from '../../model/project.ts';
import { insertAuditEntry } from '../../store/audit.ts';
import type { Db } from '../../store/db.ts';
import { lockProject, replaceProofTypes, updateDailyLimits } from '../../store/projects/projects.ts';
import { requireOwnProject, requireVisibleProject } from '../access.ts';
import { parseLimits, presentLimits } from './limits.ts';
import { requireProofTypes } from './proof-types.ts';

interface SettingsDeps {
  readonly db: Db;
  readonly clock: Pick<Clock, 'now'>;
  readonly companyOperators: ReadonlySet<Address>;
}

/** @throws ApiError ERR_PROJECT_NOT_FOUND */
export async function readSettings(deps: SettingsDeps, wallet: Address, projectId: string): Promise<ProjectSettings> {
  return presentSettings(await requireVisibleProject(deps, wallet, projectId));
}

/**
 * Sets the daily limits, from the next init on; what open batches have reserved stays reserved.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, also for whoever may only read it; ERR_INVALID_REQUEST
 */
export async function changeLimits(
  deps: SettingsDeps,
  wallet: Address,
  projectId: string,
  request: LimitsRequest,
): Promise<ProjectSettings> {
  const { token } = await requireOwnProject(deps, wallet, projectId);
  const limits = parseLimits(request, token.decimals);
  return change(deps, wallet, projectId, {
    action: 'limits.changed',
    part: ({ dailyLimits }) => presentLimits(dailyLimits, token.decimals),
    write: (trx) => updateDailyLimits(trx, projectId, limits),
    apply: (project) => ({ ...project, dailyLimits: limits }),
  });
}

/**
 * Replaces all proof types, from the next init on.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, also for whoever may only read it; ERR_INVALID_REQUEST
 */
export async function changeProofTypes(
  deps: SettingsDeps,
  wallet: Address,
  projectId: string,
  proofTypes: readonly ProofType[],
): Promise<ProjectSettings> {
  await requireOwnProject(deps, wallet, projectId);
  requireProofTypes(proofTypes);
  return change(deps, wallet, projectId, {
    action: 'proof-types.changed',
    part: (project) => ({ proofTypes: inOrder(project.proofTypes) }),
    write: (trx) => replaceProofTypes(trx, projectId, proofTypes),
    apply: (project) => ({ ...project, proofTypes: new Map(proofTypes.map((each) => [each.type, each])) }),
  });
}

/** A project's settings, as they are answered. */
export function presentSettings({ scopes, dailyLimits, proofTypes, approvalMode, token }: Project): ProjectSettings {
  return {
    scopes: [...scopes],
    ...presentLimits(dailyLimits, token.decimals),
    proofTypes: inOrder(proofTypes),
    approvalMode,
  };
}

/** By type, whatever order they were given or stored in. */
function inOrder(proofTypes: Project['proofTypes']): ProofType[] {
  return [...proofTypes.values()].toSorted((a, b) => (a.type < b.type ? -1 : 1));
}

interface Change {
  readonly action: AuditAction;
  /** What is changed, for the record of before and after. */
  readonly part: (project: Project) => unknown;
  readonly write: (trx: Db) => Promise<void>;
  readonly apply: (project: Project) => Project;
}

/** Two changes at once are made one after the other, each recorded with what it found. One that changes nothing is no entry. */
async function change(
  { db, clock }: SettingsDeps,
  wallet: Address,
  projectId: string,
  { action, part, write, apply }: Change,
): Promise<ProjectSettings> {
  return db.transaction().execute(async (trx) => {
    const project = await lockProject(trx, wallet, projectId);
    if (!project) throw new ApiError('ERR_PROJECT_NOT_FOUND', { projectId });
    const changed = apply(project);
    const [before, after] = [part(project), part(changed)];
    if (!isDeepStrictEqual(before, after)) {
      await write(trx);
      await insertAuditEntry(trx, { at: clock.now(), actor: wallet, action, projectId, before, after });
    }
    return presentSettings(changed);
  });
}
