import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import type { Db } from '../db.ts';

/** A flywheel that an operator works for. */
export interface OperatedFlywheel {
  readonly id: string;
  readonly projectId: string;
  readonly multisig: Address;
  readonly recovery: Address | null;
}

/** Finds the flywheels whose operator has this address, archived ones too, because their open batches must end. */
export async function findFlywheelsOf(db: Db, operator: Address): Promise<OperatedFlywheel[]> {
  const rows = await db
    .selectFrom('flywheels')
    .select(['id', 'project_id', 'multisig', 'recovery'])
    .where('operator', '=', operator)
    .orderBy('multisig')
    .execute();
  return rows.map(({ id, project_id, multisig, recovery }) => ({ id, projectId: project_id, multisig, recovery }));
}

/**
 * Lets a flywheel's recovery key act for its lost operator. The lock on the row ends with the transaction: a batch is created
 * before, with the lost operator, or after, with the recovery key.
 * @returns false if the lost operator is not its operator, or if it has no recovery key.
 */
export async function setRecovering(trx: Db, flywheelId: string, lost: Address): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('flywheels')
    .set({ operator: sql<Address>`recovery`, lost_operator: lost })
    .where('id', '=', flywheelId)
    .where('operator', '=', lost)
    .where('recovery', 'is not', null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
