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

/** Admits a project. Does nothing if it is admitted already. */
export async function insertAdmission(trx: Db, multisig: Address, admittedAt: Date): Promise<void> {
  await trx
    .insertInto('company_admissions')
    .values({ multisig, admitted_at: admittedAt })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Withdraws the admission of a project. */
export async function deleteAdmission(trx: Db, multisig: Address): Promise<void> {
  await trx.deleteFrom('company_admissions').where('multisig', '=', multisig).execute();
}
