import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import type { DailyTotals } from '../../model/project.ts';
import type { Db } from '../db.ts';

/** A batch as the chain knows it: other processes write the ids of batches. */
export interface BatchOnChain {
  readonly multisig: Address;
  readonly batchIndex: bigint;
}

/**
 * Records the UTC day on which a batch was set up, once: its amounts count for that day, whenever it is approved.
 * @returns the day that is recorded.
 */
export async function recordSetupDay(db: Db, { multisig, batchIndex }: BatchOnChain, day: string): Promise<string> {
  const recorded = await db
    .insertInto('company_totals')
    .values({ multisig, batch_index: batchIndex, day })
    // A row that is there is written as it is, which returns it.
    .onConflict((conflict) =>
      conflict
        .columns(['multisig', 'batch_index'])
        .doUpdateSet(({ ref }) => ({ burned: ref('company_totals.burned') })),
    )
    .returning('day')
    .executeTakeFirstOrThrow();
  return recorded.day;
}

/** Returns true if a worker has begun to set up a batch. Only workers write this. */
export async function wasSetupRecorded(db: Db, { multisig, batchIndex }: BatchOnChain): Promise<boolean> {
  const row = await db
    .selectFrom('company_totals')
    .select('day')
    .where('multisig', '=', multisig)
    .where('batch_index', '=', batchIndex)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Counts a batch for the day of its setup if the day's batches then fit the limits. The caller must hold the lock of the
 * multisig's terms. Counting it again changes nothing.
 * @param limits null counts it whatever the others amount to.
 * @returns false, and counts nothing, if it exceeds a limit. A kind of which it has nothing cannot exceed one.
 */
export async function countBatch(
  trx: Db,
  { multisig, batchIndex }: BatchOnChain,
  { burnBaseUnits, airdropBaseUnits }: DailyTotals,
  limits: DailyTotals | null,
): Promise<boolean> {
  // Compared with a literal 0, an amount without a type would be a PostgreSQL integer, which ends at 2³¹.
  const { numAffectedRows = 0n } = await sql`
    update company_totals counted set burned = ${burnBaseUnits}, airdropped = ${airdropBaseUnits}
    from (
      select coalesce(sum(other.burned), 0) as burned, coalesce(sum(other.airdropped), 0) as airdropped
      from company_totals own left join company_totals other
        on other.multisig = own.multisig and other.day = own.day and other.batch_index <> own.batch_index
      where own.multisig = ${multisig} and own.batch_index = ${batchIndex}
    ) others
    where counted.multisig = ${multisig} and counted.batch_index = ${batchIndex}
      and (${burnBaseUnits}::numeric = 0 or ${limits === null} or others.burned + ${burnBaseUnits} <= ${limits?.burnBaseUnits ?? 0n})
      and (
        ${airdropBaseUnits}::numeric = 0 or ${limits === null}
        or others.airdropped + ${airdropBaseUnits} <= ${limits?.airdropBaseUnits ?? 0n}
      )
  `.execute(trx);
  return numAffectedRows > 0n;
}

/** Stops counting a batch of which the chain has executed nothing and never will. */
export async function uncountBatch(trx: Db, { multisig, batchIndex }: BatchOnChain): Promise<void> {
  await trx
    .updateTable('company_totals')
    .set({ burned: 0n, airdropped: 0n })
    .where('multisig', '=', multisig)
    .where('batch_index', '=', batchIndex)
    .execute();
}
