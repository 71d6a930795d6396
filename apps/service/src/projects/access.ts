import { ApiError } from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { Project } from '../model/project.ts';
import type { Db } from '../store/db.ts';
import { findProject, findProjectOfWallet } from '../store/projects/projects.ts';

/**
 * Finds a project of this wallet.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, also for another wallet’s.
 */
export async function requireOwnProject(
  { db }: { readonly db: Db },
  wallet: Address,
  projectId: string,
): Promise<Project> {
  const project = await findProjectOfWallet(db, wallet, projectId);
  if (!project) throw new ApiError('ERR_PROJECT_NOT_FOUND', { projectId });
  return project;
}

/**
 * Finds a project that this wallet may read: its own, or any project for an operator of the company.
 * @throws ApiError ERR_PROJECT_NOT_FOUND
 */
export async function requireVisibleProject(
  { db, companyOperators }: { readonly db: Db; readonly companyOperators: ReadonlySet<Address> },
  wallet: Address,
  projectId: string,
): Promise<Project> {
  if (!companyOperators.has(wallet)) return requireOwnProject({ db }, wallet, projectId);
  const project = await findProject(db, projectId);
  if (project === null || typeof project === 'string') throw new ApiError('ERR_PROJECT_NOT_FOUND', { projectId });
  return project;
}
