import { randomUUID } from 'node:crypto';
import type { Clock } from '../model/clock.ts';
import type { Db } from '../store/db.ts';
import {
  ALREADY_THERE,
  arriveLater,
  findMoveIssue,
  findNamedProject,
  hasMovedBefore,
  identifyShard,
  isInUse,
  isStored,
  NOTHING_TO_DISCARD,
  recordArrival,
  redirectMove,
} from '../store/shards/arrival.ts';
import type { NamedProject, Transfer } from '../store/shards/belongings.ts';
import {
  type Departure,
  findDeparture,
  isOvertaken,
  isTooSlow,
  NotDrained,
  refuseWork,
  resumeWork,
} from '../store/shards/departure.ts';
import { CopiesMissing, copyPast, findUnsettled, forgetPast, hasWholePast } from '../store/shards/past.ts';
import { transfer } from '../store/shards/transfer.ts';

export interface MoveDeps {
  /** Databases of the two shards, with the rights of the tables' owner. */
  readonly from: Db;
  readonly to: Db;
  readonly clock: Clock;
  /** Number in [0, 1) that varies the pauses between attempts. */
  readonly random?: () => number;
}

/**
 * A step that a move has taken: some settled batches were copied, one or many times; new work is refused; the other
 * rows have left the source; they are in the destination.
 */
export type MoveStep = 'copied' | 'refusing' | 'departed' | 'arrived';

export interface MoveOptions {
  readonly isDiscarded?: boolean;
  readonly isDestinationRestored?: boolean;
}

/** The project cannot move now; it is where it was, and takes work. The message says what to do. */
export class MoveRefused extends Error {
  override readonly name = 'MoveRefused';
}

/** Clients are refused for at most this time. A busy project is drained within seconds: workers stop before their next bundle. */
const REFUSED_SECONDS = 30;
const RETRY_MS = 200;
/**
 * The longest wait for another's lock. With equal pauses, two moves in opposite directions would begin again at the same
 * time, and meet again.
 */
const RETRY_SPREAD_MS = 500;
/**
 * Requests that were admitted before work was refused have ended by then; those that come later are answered 503 if the
 * rows leave.
 */
const SETTLE_MS = 1_000;

/**
 * Moves a project to another shard, or continues a move that was interrupted at any step.
 * @param onStep is called after each step. An error that it throws interrupts the move there.
 * @param isDiscarded takes the project out of the source only: its backup was restored, and the destination has the
 * project since.
 * @param isDestinationRestored continues an interrupted move in a destination that was restored from a backup made before
 * its first move, and so has another identity.
 * @throws MoveRefused
 */
export async function moveProject(
  deps: MoveDeps,
  projectId: string,
  onStep: (step: MoveStep) => Promise<void>,
  { isDiscarded = false, isDestinationRestored = false }: MoveOptions = {},
): Promise<{ readonly moveId: string }> {
  const { from, to } = deps;
  const destination = await identifyShard(to);
  if (destination === (await identifyShard(from))) {
    throw new MoveRefused('The destination is the source, or a copy of its database.');
  }
  const departure = await findDeparture(from, projectId);
  const moveId = departure?.moveId ?? randomUUID();
  const move = { moveId, projectId, destination, isDiscarded };
  if (departure !== null) await requireDestination(deps, move, departure, isDestinationRestored);
  const { multisig } = departure ?? (await leave(deps, move, onStep));
  if (departure?.hasArrived) {
    await forgetPast(from, { projectId, multisig });
    await requireThere(deps, projectId);
    return { moveId };
  }
  if (departure !== null) await arriveAfterAll(deps, move, departure, onStep);
  await onStep('arrived');
  await recordArrival(from, moveId);
  await forgetPast(from, { projectId, multisig });
  return { moveId };
}

/**
 * Removes from the destination what an interrupted or refused move has copied ahead. The project stays in the source.
 * @throws MoveRefused if the project has left the source: then its move is to be continued.
 */
export async function abandonMove({ from, to }: Pick<MoveDeps, 'from' | 'to'>, projectId: string): Promise<void> {
  const project = await findNamedProject(from, projectId);
  if (project === null) throw new MoveRefused(`Project ${projectId} is not in the source, so nothing is removed.`);
  await forgetPast(to, project);
}

/**
 * Requires that the rows of a move which have left the source go on to the database that they left for.
 * @param isRestored accepts a database that can be that one, restored from a backup.
 */
async function requireDestination(
  { from, to }: MoveDeps,
  { moveId, projectId, destination }: Omit<Transfer, 'rest'>,
  departure: Departure,
  isRestored: boolean,
): Promise<void> {
  const meant = departure.destination;
  if (meant === destination) return;
  const left = `Project ${projectId} has left for the shard with the identity ${meant}; the destination has ${destination}.`;
  if (departure.hasArrived) throw new MoveRefused(`${left} It has arrived there.`);
  if (!isRestored) {
    throw new MoveRefused(
      `${left} Continue its move to that one. If the destination is that one, restored from a backup made before its first move, add --destination-restored.`,
    );
  }
  if (await hasMovedBefore(to, departure.departedAt)) {
    throw new MoveRefused(`${left} The destination had moves before the project left, so it is another shard.`);
  }
  await redirectMove(from, moveId, destination);
}

/** Requires that a project whose move has ended is still where it arrived. */
async function requireThere({ from, to }: MoveDeps, projectId: string): Promise<void> {
  if ((await findNamedProject(to, projectId)) !== null) return;
  const further = await findDeparture(to, projectId);
  const arrived = `Project ${projectId} arrived in the destination, and is not there`;
  if (further === null) throw new MoveRefused(`${arrived}: its database was restored from a backup.`);
  const isBack = further.destination === (await identifyShard(from));
  const place = isBack ? 'the source' : `the shard with the identity ${further.destination}`;
  throw new MoveRefused(
    `${arrived}: it has left for ${place}.${further.hasArrived ? '' : ' That move was interrupted. Continue it.'}`,
  );
}

/** Ends a move whose rows have left the source. */
async function arriveAfterAll(
  deps: MoveDeps,
  move: Omit<Transfer, 'rest'>,
  { multisig }: Departure,
  onStep: (step: MoveStep) => Promise<void>,
): Promise<void> {
  const { moveId, projectId, isDiscarded } = move;
  // Read first: if another process stores the project in between, the second question finds its arrival.
  const isThere = (await findNamedProject(deps.to, projectId)) !== null;
  if (await isStored(deps.to, moveId)) return;
  if (isThere && !isDiscarded) throw new MoveRefused(ALREADY_THERE);
  if (!isThere && isDiscarded) throw new MoveRefused(`${NOTHING_TO_DISCARD} Run the command without --discard.`);
  if (!isDiscarded && !(await hasWholePast(deps, projectId))) {
    await copyPast(deps, { projectId, multisig }, () => onStep('copied'));
  }
  for (;;) {
    try {
      return await arriveLater(deps, move);
    } catch (error) {
      // Moves out of the destination end within seconds.
      if (!isInUse(error)) throw error;
      await deps.clock.sleep(pauseMs(deps));
    }
  }
}

async function leave(
  deps: MoveDeps,
  { isDiscarded, ...move }: Omit<Transfer, 'rest'>,
  onStep: (step: MoveStep) => Promise<void>,
): Promise<NamedProject> {
  const { from, to, clock } = deps;
  const { projectId } = move;
  const project = await findNamedProject(from, projectId);
  if (project === null) throw new MoveRefused(`Project ${projectId} is not in the source.`);
  const issue = await findMoveIssue({ from, to }, { projectId, keys: project.keys, isDiscarded });
  if (issue !== null) throw new MoveRefused(issue);
  const rest = isDiscarded
    ? await findUnsettled(from, project)
    : await copyPast({ from, to }, project, () => onStep('copied'));
  await refuseWork(from, projectId, REFUSED_SECONDS);
  await onStep('refusing');
  await clock.sleep(SETTLE_MS);
  const endMs = clock.now().getTime() + REFUSED_SECONDS * 1_000 - SETTLE_MS;
  for (;;) {
    try {
      await transfer({ from, to }, { ...move, isDiscarded, rest }, () => onStep('departed'));
      return project;
    } catch (error) {
      const isTemporary = error instanceof NotDrained || isOvertaken(error) || isInUse(error);
      const retryMs = pauseMs(deps);
      if (isTemporary && clock.now().getTime() + retryMs < endMs) {
        await clock.sleep(retryMs);
        continue;
      }
      const isRefused = isTemporary || (await isTooSlow(from, projectId, error));
      await resumeWork(from, projectId);
      if (error instanceof CopiesMissing) {
        throw new MoveRefused(`${error.message} Nothing has moved. Run the command again.`, { cause: error });
      }
      if (!isRefused) throw error;
      const reason = error instanceof NotDrained ? error.message : 'Its rows take longer, or change all the time.';
      const message = `Nothing has moved within ${REFUSED_SECONDS} s, and the project takes work again. ${reason}`;
      throw new MoveRefused(message, { cause: error });
    }
  }
}

function pauseMs({ random = Math.random }: MoveDeps): number {
  return RETRY_MS + RETRY_SPREAD_MS * random();
}
