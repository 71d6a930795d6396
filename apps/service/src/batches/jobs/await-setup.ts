import type { Batch } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import { requireUnpaused } from '../../store/company/pauses.ts';
import { fencedTransaction, type RunDeps } from '../deps.ts';
import { readProgress } from './progress.ts';

/** The setup enqueues the execution when it ends; a worker of release 0.2.0, which may set up the batch instead, does not. */
const EXECUTE_AGAIN_MS = 15_000;

/**
 * Leaves a batch whose execution was requested too early to the other lane of its multisig, which alone may set it up.
 * @throws Paused
 */
export async function executeAfterSetup(deps: RunDeps, project: Project, batch: Batch): Promise<void> {
  const startAfter = new Date(deps.clock.now().getTime() + EXECUTE_AGAIN_MS);
  await requestSetup(deps, project, batch);
  const { address: multisig } = project.flywheel.multisig;
  await deps.jobs.enqueue(deps.db, { type: 'execute', batchId: batch.id, multisig }, { startAfter });
}

/** Enqueues the setup of a batch; one that waits for a later time starts now. @throws Paused */
async function requestSetup(deps: RunDeps, { flywheel }: Project, { id: batchId }: Batch): Promise<void> {
  const setup = { type: 'setup', batchId, multisig: flywheel.multisig.address } as const;
  await fencedTransaction(deps, async (trx) => {
    await requireUnpaused(trx, flywheel.id);
    await deps.jobs.enqueue(trx, setup);
  });
}

const POLL_INTERVAL_MS = 200;
/** About ten seconds: a setup takes one or two, if nothing holds it up. */
const MAX_POLLS = 50;

/**
 * Enqueues a setup again that a fork took away, and waits until it is on chain.
 * @returns false if it is not within ten seconds.
 * @throws Paused
 */
export async function awaitSetup(deps: RunDeps, project: Project, batch: Batch): Promise<boolean> {
  const { clock, signal, turn } = deps;
  await requestSetup(deps, project, batch);
  for (let polls = 0; polls < MAX_POLLS; polls += 1) {
    await turn.pause(() => clock.sleep(POLL_INTERVAL_MS, signal));
    const { status } = await readProgress(deps, project.flywheel.multisig, batch);
    if (status !== 'Absent' && status !== 'Draft') return true;
  }
  return false;
}
