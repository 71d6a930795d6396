import type { PauseRequest } from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { Deps } from '../batches/deps.ts';
import { projectNotFound } from '../projects/access.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { type NewPause, setPauseForAll, setProjectPause } from '../store/company/pauses.ts';
import type { Db } from '../store/db.ts';

type PauseDeps = Pick<Deps, 'db' | 'jobs' | 'clock'>;

/**
 * Pauses a project. Once this returns, no further bundle of its batches is sent; bundles in flight are followed to their
 * end. A worker records the pause, and after that only a resumption which an operator signed ends it.
 * @throws ApiError ERR_PROJECT_NOT_FOUND; ERR_PROJECT_MOVING for one that has left this shard, whose proxy then asks
 * which has it.
 */
export async function pauseProject(
  deps: PauseDeps,
  operator: Address,
  projectId: string,
  request: PauseRequest,
): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const before = await setProjectPause(trx, projectId, newPause(deps, request));
    if (before === undefined) throw await projectNotFound(trx, projectId);
    await recordPause(deps, trx, { operator, request, before, projectId });
  });
}

/** Pauses all projects. A project with a pause of its own stays paused when all are resumed. */
export async function pauseAll(deps: PauseDeps, operator: Address, request: PauseRequest): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const before = await setPauseForAll(trx, newPause(deps, request));
    await recordPause(deps, trx, { operator, request, before, projectId: null });
  });
}

function newPause({ clock }: PauseDeps, { reason }: PauseRequest): NewPause {
  return { since: clock.now(), reason: reason ?? null };
}

interface RequestedPause {
  readonly operator: Address;
  readonly request: PauseRequest;
  readonly before: NewPause | null;
  readonly projectId: string | null;
}

/** Writes the audit entry and has a worker record the pause. */
async function recordPause(
  { jobs, clock }: PauseDeps,
  trx: Db,
  { operator, request: { reason }, before, projectId }: RequestedPause,
): Promise<void> {
  await insertAuditEntry(trx, {
    at: clock.now(),
    actor: operator,
    action: projectId === null ? 'company.paused' : 'project.paused',
    ...(projectId !== null && { projectId }),
    ...(before && { before: { since: before.since.toISOString(), reason: before.reason } }),
    ...(reason !== undefined && { reason }),
  });
  await jobs.enqueue(trx, { type: 'review-changes' });
}
