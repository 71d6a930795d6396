import { sql } from 'kysely';
import type { Db } from '../db.ts';

/** What the operator has out and spends, by the ledger. */
export interface Spending {
  /** In accounts of batches that are not closed. */
  readonly rentOutLamports: bigint;
  /** Fees and tips of what has landed, well or badly, since then. */
  readonly spentLamports: bigint;
}

/** What the operator has locked as rent now, and spent on fees and tips since a moment. */
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
