import { ApiError, type AuditAction, type PauseRequest } from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { Deps } from '../batches/deps.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { findHeldJobs, type NewPause, setPauseForAll, setProjectPause } from '../store/company/pauses.ts';
import type { Db } from '../store/db.ts';

/**
 * Pauses or resumes a project. Once a pause returns, no further bundle of its batches is sent; bundles in flight are
 * followed to their end. Resuming enqueues the jobs that were held.
 * @throws ApiError ERR_PROJECT_NOT_FOUND
 */
export async function pauseProject(
  deps: Deps,
  operator: Address,
  projectId: string,
  request: PauseRequest,
): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const before = await setProjectPause(trx, projectId, newPause(deps, request));
    if (before === undefined) throw new ApiError('ERR_PROJECT_NOT_FOUND', { projectId });
    const action = request.isPaused ? 'project.paused' : 'project.resumed';
    await recordChange(deps, trx, { operator, request, before, action, projectId });
  });
}

/** Pauses or resumes all projects. A project with a pause of its own stays paused when all are resumed. */
export async function pauseAll(deps: Deps, operator: Address, request: PauseRequest): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const before = await setPauseForAll(trx, newPause(deps, request));
    const action = request.isPaused ? 'company.paused' : 'company.resumed';
    await recordChange(deps, trx, { operator, request, before, action, projectId: null });
  });
}

function newPause({ clock }: Deps, { isPaused, reason }: PauseRequest): NewPause | null {
  return isPaused ? { since: clock.now(), reason: reason ?? null } : null;
}

interface Change {
  readonly operator: Address;
  readonly request: PauseRequest;
  readonly before: NewPause | null;
  readonly action: AuditAction;
  readonly projectId: string | null;
}

/** Writes the audit entry and enqueues held jobs. Does nothing if the request changed nothing. */
async function recordChange(
  { jobs, clock }: Deps,
  trx: Db,
  { operator, request, before, action, projectId }: Change,
): Promise<void> {
  const { isPaused, reason } = request;
  if (isPaused ? before !== null && before.reason === (reason ?? null) : before === null) return;
  await insertAuditEntry(trx, {
    at: clock.now(),
    actor: operator,
    action,
    ...(projectId !== null && { projectId }),
    ...(before && { before: { since: before.since.toISOString(), reason: before.reason } }),
    ...(reason !== undefined && { reason }),
  });
  if (isPaused) return;
  for (const job of await findHeldJobs(trx, projectId)) await jobs.enqueue(trx, job);
}
