import { sql } from 'kysely';
import { DAY_MS, startOfUtcDay, utcDay } from '../../model/clock.ts';
import { awaitsCompanySql } from '../batch-waits.ts';
import type { Db } from '../db.ts';

export interface Counts {
  /** Projects whose token and flywheel exist. */
  readonly projects: number;
  readonly openBatches: number;
  /** Batches that wait for the company's approval. */
  readonly waitingBatches: number;
}

/** Counts for the company's overview, all read in one statement. */
export async function readCounts(db: Db): Promise<Counts> {
  const { rows } = await sql<Counts>`
    select
      (
        select count(*)::int from projects
        where exists (select from tokens where project_id = projects.id and archived_at is null)
          and exists (select from flywheels where project_id = projects.id and archived_at is null)
      ) as projects,
      (select count(*)::int from batches where ended_at is null) as "openBatches",
      (
        select count(*)::int from batches
        where ${awaitsCompanySql} and ended_at is null
      ) as "waitingBatches"
  `.execute(db);
  const [counts] = rows;
  if (!counts) throw new Error('Three counts are always one row.');
  return counts;
}

/** The operator's locked rent and spending. */
export interface Spending {
  /** Rent in accounts of batches that are not closed, from the ledger. */
  readonly rentOutLamports: bigint;
  /**
   * The charges of batches in the window, as the caps of a day count them: fees and tips of landed transactions,
   * successful or failed.
   */
  readonly spentLamports: bigint;
}

/** Length of the window of `readSpending`, before the moment that is asked for. */
export const SPENDING_DAYS = 7n;

/**
 * Reads the rent that the operator has locked now, and what batches were charged in the last days, from the sums of the days: the
 * transactions of a past may be millions. The day in which the window begins counts by the part that is within it.
 */
export async function readSpending(db: Db, now: Date): Promise<Spending> {
  const today = utcDay(now);
  const partOfOldest = 1 - (now.getTime() - startOfUtcDay(now).getTime()) / DAY_MS;
  const { rows } = await sql<Spending>`
    select
      (
        select coalesce(sum(rent_out_lamports - rent_back_lamports), 0)
        from batches join ledger_entries on batch_id = batches.id
        where closed_at is null
      ) as "rentOutLamports",
      (
        select floor(coalesce(sum(lamports * case when day = oldest then ${partOfOldest}::numeric else 1 end), 0))
        from (select ${today}::date - ${Number(SPENDING_DAYS)}::int as oldest) as days, daily_spending
        where day >= oldest and day <= ${today}::date
      ) as "spentLamports"
  `.execute(db);
  const [spending] = rows;
  if (!spending) throw new Error('The query of the locked rent and the spending answered no row.');
  return spending;
}
