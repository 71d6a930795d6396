import { randomUUID } from 'node:crypto';
import type { Clock } from '../model/clock.ts';
import type { Db } from '../store/db.ts';
import { arriveLater, findMoveIssue, findOperatorOf, identifyShard, recordArrival } from '../store/shards/arrival.ts';
import {
  findDeparture,
  isOvertaken,
  isTooSlow,
  NotDrained,
  refuseWork,
  resumeWork,
} from '../store/shards/departure.ts';
import { transfer } from '../store/shards/transfer.ts';

export interface MoveDeps {
  /** Databases of the two shards, with the rights of the tables' owner. */
  readonly from: Db;
  readonly to: Db;
  readonly clock: Clock;
}

/** A step that a move has taken: new work is refused; the rows have left the source; they are in the destination. */
export type MoveStep = 'refusing' | 'departed' | 'arrived';

export interface MoveOptions {
  readonly isDiscarded?: boolean;
}

/** The project cannot move now; it is where it was, and takes work. The message says what to do. */
export class MoveRefused extends Error {
  override readonly name = 'MoveRefused';
}

/** Clients are refused for at most this time. A busy project is drained within seconds: workers stop before their next bundle. */
const REFUSED_SECONDS = 30;
const RETRY_MS = 200;
/** Requests that were admitted before work was refused have ended by then; those that come later are answered 503 if the rows leave. */
const SETTLE_MS = 1_000;

/**
 * Moves a project to another shard, or continues a move that was interrupted at any step.
 * @param onStep is called after each step. An error that it throws interrupts the move there.
 * @param isDiscarded takes the project out of the source only: its backup was restored, and the destination has the project since.
 * @throws MoveRefused
 */
export async function moveProject(
  deps: MoveDeps,
  projectId: string,
  onStep: (step: MoveStep) => Promise<void>,
  { isDiscarded = false }: MoveOptions = {},
): Promise<{ readonly moveId: string }> {
  const { from, to } = deps;
  const destination = await identifyShard(to);
  if (destination === (await identifyShard(from))) {
    throw new MoveRefused('The destination is the source, or a copy of its database.');
  }
  const departure = await findDeparture(from, projectId);
  const moveId = departure?.moveId ?? randomUUID();
  const move = { moveId, projectId, destination, isDiscarded };
  if (departure === null) await leave(deps, move, onStep);
  else if (departure.destination !== destination) {
    throw new MoveRefused(`Project ${projectId} has left for another shard. Continue its move to that one.`);
  } else if (!departure.hasArrived) await arriveLater({ from, to }, move);
  await onStep('arrived');
  await recordArrival(from, moveId);
  return { moveId };
}

async function leave(
  { from, to, clock }: MoveDeps,
  move: Parameters<typeof transfer>[1],
  onStep: (step: MoveStep) => Promise<void>,
): Promise<void> {
  const { projectId, isDiscarded } = move;
  const operator = await findOperatorOf(from, projectId);
  if (operator === null) throw new MoveRefused(`Project ${projectId} is not in the source.`);
  const issue = await findMoveIssue({ from, to }, { projectId, operator, isDiscarded });
  if (issue !== null) throw new MoveRefused(issue);
  await refuseWork(from, projectId, REFUSED_SECONDS);
  await onStep('refusing');
  await clock.sleep(SETTLE_MS);
  const endMs = clock.now().getTime() + REFUSED_SECONDS * 1_000 - SETTLE_MS;
  for (;;) {
    try {
      return await transfer({ from, to }, move, () => onStep('departed'));
    } catch (error) {
      const isTemporary = error instanceof NotDrained || isOvertaken(error);
      if (isTemporary && clock.now().getTime() + RETRY_MS < endMs) {
        await clock.sleep(RETRY_MS);
        continue;
      }
      await resumeWork(from, projectId);
      if (!isTemporary && !isTooSlow(error)) throw error;
      const reason = error instanceof NotDrained ? error.message : 'Its rows take longer, or change all the time.';
      const message = `Nothing has moved within ${REFUSED_SECONDS} s, and the project takes work again. ${reason}`;
      throw new MoveRefused(message, { cause: error });
    }
  }
}
