import type { KeySuccession } from '@flywheel/protocol';
import type { Db } from '../db.ts';

/** A succession with the signature of the key that is succeeded, base58. */
export interface SignedSuccession extends KeySuccession {
  readonly signature: string;
}

/** Stores a succession once. Equal successions have equal signatures. @returns false if it was stored before. */
export async function insertKeySuccession(db: Db, succession: SignedSuccession, now: Date): Promise<boolean> {
  const { genesisHash, role, from, to, signature } = succession;
  const row = { genesis_hash: genesisHash, role, from_key: from, to_key: to, signature, signed_at: now };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('key_successions')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

/** Finds every succession of a cluster's keys, oldest first. There is one for each rotation of a key. */
export async function findKeySuccessions(db: Db, genesisHash: string): Promise<SignedSuccession[]> {
  return db
    .selectFrom('key_successions')
    .select(['genesis_hash as genesisHash', 'role', 'from_key as from', 'to_key as to', 'signature'])
    .where('genesis_hash', '=', genesisHash)
    .orderBy('signed_at')
    .execute();
}
