import { sql } from 'kysely';
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
        where company_asked_at is not null and company_decided_at is null and ended_at is null
      ) as "waitingBatches"
  `.execute(db);
  const [counts] = rows;
  if (!counts) throw new Error('Three counts are always one row.');
  return counts;
}

/** The operator's locked rent and spending, from the ledger. */
export interface Spending {
  /** Rent in accounts of batches that are not closed. */
  readonly rentOutLamports: bigint;
  /** Fees and tips of landed transactions, successful or failed, since the given time. */
  readonly spentLamports: bigint;
}

/** Reads the rent that the operator has locked now, and its fees and tips since a time. */
export async function readSpending(db: Db, since: Date): Promise<Spending> {
  const { rows } = await sql<Spending>`
    select
      (
        select coalesce(sum(rent_out_lamports - rent_back_lamports), 0)
        from batches join ledger_entries on batch_id = batches.id
        where closed_at is null
      ) as "rentOutLamports",
      (
        select coalesce(sum(fee_lamports + ledger_entries.tip_lamports), 0)
        from bundles
        join ledger_entries on ledger_entries.batch_id = bundles.batch_id and signature = any(signatures)
        where settled_at > ${since}
      ) as "spentLamports"
  `.execute(db);
  const [spending] = rows;
  if (!spending) throw new Error('Two sums are always one row.');
  return spending;
}
