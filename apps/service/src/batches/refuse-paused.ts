import { ApiError } from '@flywheel/api';
import { findPause } from '../store/company/pauses.ts';
import type { Deps } from './deps.ts';

/** @throws ApiError ERR_PAUSED while the company has paused the project, or all of them. */
export async function requireUnpausedProject({ db }: Pick<Deps, 'db'>, { id }: { readonly id: string }): Promise<void> {
  const pause = await findPause(db, id);
  if (pause) throw new ApiError('ERR_PAUSED', { isForAll: pause.isForAll, reason: pause.reason });
}
