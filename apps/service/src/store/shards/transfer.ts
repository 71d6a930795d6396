import type { Db } from '../db.ts';
import { arrive } from './arrival.ts';
import type { Transfer } from './belongings.ts';
import { depart } from './departure.ts';

/**
 * Moves the rows of a project: one transaction takes them out of the source, one stores them in the destination. Both
 * have done all their work before the first of them commits, the source's. A crash between the two commits loses
 * nothing, because the source keeps the rows until `arrive` has stored them.
 * @param onDeparted is called between the two commits.
 * @throws NotDrained, and errors of PostgreSQL; nothing has moved then, unless `findDeparture` finds the move.
 */
export async function transfer(
  { from, to }: { readonly from: Db; readonly to: Db },
  move: Transfer,
  onDeparted: () => Promise<void>,
): Promise<void> {
  const arrival = await to.startTransaction().execute();
  try {
    await from.transaction().execute(async (departure) => {
      await depart(departure, move);
      await arrive(arrival, departure, move);
    });
    await onDeparted();
    await arrival.commit().execute();
  } finally {
    if (!arrival.isCommitted) await arrival.rollback().execute();
  }
}
