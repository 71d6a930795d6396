import { type Batch, type ExecutionIssue, heldUp } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import { findBatch } from '../../store/batches/batches.ts';
import { hasExecutionBegun, recordExecutionIssue } from '../../store/batches/executions.ts';
import { findOpenIds, findReadyAt } from '../../store/batches/rotations.ts';
import { findLastResumption } from '../../store/company/changes.ts';
import { settleBundles } from '../bundles/land.ts';
import { fencedTransaction, type RunDeps } from '../deps.ts';
import { endOpen } from './end.ts';
import { awaitFinality, readFinality } from './finality.ts';

/** Batches under load end within seconds. */
const POLL_MS = 1_000;

/**
 * Lets the other batches of a multisig end before a rotation is executed, because it makes every proposal stale that is not
 * approved yet. No batch is admitted meanwhile. What is neither ended nor approved after `rotationGraceSeconds`, counted from
 * the end of the last pause, ends FAILED: no person's delay may keep a member from being replaced.
 * @returns true if the rotation can be executed. If not, the rotation says why, and the job is enqueued again.
 */
export async function drainBatches(deps: RunDeps, project: Project, rotation: Batch): Promise<boolean> {
  const { db, clock, jobs, log, rotationGraceSeconds } = deps;
  // During a pause no batch could be approved.
  const begunAt = [await findReadyAt(db, rotation.id), await findLastResumption(db, project.id)];
  const graceEndsAt = Math.max(...begunAt.map((at) => at?.getTime() ?? 0)) + rotationGraceSeconds * 1_000;
  const isGraceOver = clock.now().getTime() >= graceEndsAt;
  const waiting: string[] = [];
  for (const batch of await findUnapproved(deps, project, rotation)) {
    if (!isGraceOver) waiting.push(batch.id);
    else if (!(await isApprovedInTime(deps, project, batch))) await endOpen(deps, project, batch, 'overtaken');
  }
  if (isGraceOver) waiting.push(...(await findUnapproved(deps, project, rotation)).map(({ id }) => id));
  if (waiting.length === 0) return true;
  const issue = waitIssue(waiting.length, new Date(graceEndsAt));
  const job = { type: 'execute', batchId: rotation.id, multisig: project.flywheel.multisig.address } as const;
  await fencedTransaction(deps, async (trx) => {
    const now = clock.now();
    // Written once for each sentence, not with each poll.
    if (JSON.stringify(issue) !== JSON.stringify(rotation.executionError)) {
      await recordExecutionIssue(trx, rotation.id, issue, { keepRequest: true }, now);
      log.info({ batchId: rotation.id, waiting, rotationGraceSeconds }, 'the rotation waits for open batches');
    }
    await jobs.enqueue(trx, job, { startAfter: new Date(now.getTime() + POLL_MS) });
  });
  return false;
}

/** Waits for the end of what was sent of a batch: its approval may be on chain and not finalized yet. */
async function isApprovedInTime(deps: RunDeps, { flywheel }: Project, batch: Batch): Promise<boolean> {
  if (!(await hasExecutionBegun(deps.db, batch.id))) return false;
  await settleBundles(deps, batch);
  const final = await awaitFinality(deps, flywheel.multisig, batch);
  return final !== 'incomplete' && final.status === 'Approved';
}

/** Says on the rotation why it is not executed yet, and until when it waits. */
function waitIssue(open: number, until: Date): ExecutionIssue {
  const batches = open === 1 ? '1 open batch' : `${open} open batches`;
  return heldUp(
    `it waits for ${batches} of the project, until ${until.toISOString()} at the latest. What is not approved on chain by then ends FAILED. Execute or cancel open batches, and it goes on at once.`,
  );
}

/** Finds the other open batches, without those that Squads executes although they are stale. */
async function findUnapproved(deps: RunDeps, project: Project, { id, flywheelId }: Batch): Promise<Batch[]> {
  // A request that is creating a batch finishes first; those behind it see that the rotation is ready.
  const ids = await fencedTransaction(deps, (trx) => findOpenIds(trx, flywheelId), { locksFlywheel: true });
  const others = await Promise.all(ids.filter((other) => other !== id).map((other) => findBatch(deps.db, other)));
  const unapproved: Batch[] = [];
  for (const batch of others) {
    if (!batch) continue;
    const final = await readFinality(deps, project.flywheel.multisig, batch);
    if (final === 'incomplete' || final.status !== 'Approved') unapproved.push(batch);
  }
  return unapproved;
}
