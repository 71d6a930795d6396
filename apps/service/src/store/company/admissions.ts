import type { Address } from '@solana/kit';
import type { Db } from '../db.ts';

/** Tells if the company has admitted a project. A `Project` that was read has it too: `isAdmitted`. */
export async function isAdmitted(db: Db, multisig: Address): Promise<boolean> {
  const row = await db
    .selectFrom('company_admissions')
    .select('multisig')
    .where('multisig', '=', multisig)
    .executeTakeFirst();
  return row !== undefined;
}

/** Admits a project. Returns false, and changes nothing, if it is admitted already. */
export async function insertAdmission(trx: Db, multisig: Address, admittedAt: Date): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await trx
    .insertInto('company_admissions')
    .values({ multisig, admitted_at: admittedAt })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows > 0n;
}

/** Withdraws the admission of a project. Returns false if it was not admitted. */
export async function deleteAdmission(trx: Db, multisig: Address): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('company_admissions')
    .where('multisig', '=', multisig)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}
