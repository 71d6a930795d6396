import { ApiError } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { type Project, projectMoving } from '../model/project.ts';
import type { Db } from '../store/db.ts';
import { findProject, findProjectOfWallet } from '../store/projects/projects.ts';
import { hasDeparted } from '../store/shards/directory.ts';

/**
 * Finds a project of this wallet.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, also for another wallet’s; ERR_PROJECT_MOVING for one that has left this shard.
 */
export async function requireOwnProject(
  { db }: { readonly db: Db },
  wallet: Address,
  projectId: string,
): Promise<Project> {
  const project = await findProjectOfWallet(db, wallet, projectId);
  if (!project) throw await projectNotFound(db, projectId);
  return project;
}

/**
 * Finds a project that this wallet may read: its own, or any project for an operator of the company.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, ERR_PROJECT_MOVING
 */
export async function requireVisibleProject(
  { db, companyOperators }: { readonly db: Db; readonly companyOperators: ReadonlySet<Address> },
  wallet: Address,
  projectId: string,
): Promise<Project> {
  if (!companyOperators.has(wallet)) return requireOwnProject({ db }, wallet, projectId);
  const project = await findProject(db, projectId);
  if (project === null || typeof project === 'string') throw await projectNotFound(db, projectId);
  return project;
}

/** Builds the error for a project that is not here: it does not exist, or has left this shard. */
export async function projectNotFound(db: Db, projectId: string): Promise<ApiError> {
  return (await hasDeparted(db, { projectId }))
    ? projectMoving()
    : new ApiError('ERR_PROJECT_NOT_FOUND', { projectId });
}
