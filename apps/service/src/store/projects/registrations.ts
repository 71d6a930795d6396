import type { RegistrationRequest } from '@flywheel/api';
import type { Address, ReadonlyUint8Array } from '@solana/kit';
import type { Multisig, Token } from '../../model/project.ts';
import type { Db } from '../db.ts';

/** A registration whose transaction the wallet has not yet signed. */
export interface RegistrationRecord {
  readonly id: string;
  readonly wallet: Address;
  readonly request: RegistrationRequest;
  readonly token: Token;
  readonly multisig: Multisig;
  /**
   * Key that determined the multisig's address. Its signature is in the transaction, and the private key was discarded.
   */
  readonly createKey: Address;
  /** Message of the transaction, byte for byte. */
  readonly message: Uint8Array;
  readonly lastValidBlockHeight: bigint;
  readonly createdAt: Date;
}

export async function insertRegistration(
  db: Db,
  registration: Omit<RegistrationRecord, 'message'> & { readonly message: ReadonlyUint8Array },
): Promise<void> {
  await db
    .insertInto('registrations')
    .values({
      id: registration.id,
      wallet: registration.wallet,
      request: JSON.stringify(registration.request),
      token: JSON.stringify(registration.token),
      multisig: JSON.stringify(registration.multisig),
      create_key: registration.createKey,
      message: new Uint8Array(registration.message),
      last_valid_block_height: registration.lastValidBlockHeight,
      created_at: registration.createdAt,
    })
    .execute();
}

/** Finds a registration; null also for another wallet's, and for one that has become a project. */
export async function findRegistration(
  db: Db,
  registrationId: string,
  wallet: Address,
): Promise<RegistrationRecord | null> {
  const row = await db
    .selectFrom('registrations')
    .selectAll()
    .where('id', '=', registrationId)
    .where('wallet', '=', wallet)
    .where('project_id', 'is', null)
    .executeTakeFirst();
  if (!row) return null;
  return {
    id: row.id,
    wallet: row.wallet,
    request: row.request,
    token: row.token,
    // A registration of an earlier release has neither.
    multisig: {
      ...row.multisig,
      rentCollector: row.multisig.rentCollector ?? row.multisig.operator,
      recovery: row.multisig.recovery ?? null,
    },
    createKey: row.create_key,
    message: row.message,
    lastValidBlockHeight: row.last_valid_block_height,
    createdAt: row.created_at,
  };
}

/**
 * Claims a registration for the project that this transaction inserts, before or after.
 * @returns false if another transaction has claimed it: of two simultaneous calls the second waits for the first.
 */
export async function completeRegistration(trx: Db, registrationId: string, projectId: string): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('registrations')
    .set({ project_id: projectId })
    .where('id', '=', registrationId)
    .where('project_id', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
