import type { KeyRole } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { Db } from '../db.ts';

/** A key that workers hold. */
export interface WorkerKey {
  readonly role: KeyRole;
  readonly address: Address;
}

/** Records the keys of a worker that starts, in place of those of the worker before. */
export async function recordWorkerKeys(db: Db, keys: readonly WorkerKey[]): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await trx.deleteFrom('worker_keys').execute();
    // Workers with the same keys may start at once.
    await trx
      .insertInto('worker_keys')
      .values(keys)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  });
}

/** Finds the first of some keys that the worker which started last does not hold; null if it holds all. */
export async function findMissingKey(db: Db, keys: readonly WorkerKey[]): Promise<WorkerKey | null> {
  const held = await db.selectFrom('worker_keys').select(['role', 'address']).execute();
  const isHeld = (key: WorkerKey) => held.some(({ role, address }) => role === key.role && address === key.address);
  return keys.find((key) => !isHeld(key)) ?? null;
}
