import type { Address } from '@solana/kit';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from './db.ts';
import type { NonWalletsTable } from './schema.ts';

/** Kind of account that the chain held at an address that is not a wallet's. */
export interface NonWallet {
  readonly address: Address;
  readonly kind: NonWalletsTable['kind'];
}

/** Finds the addresses that are known not to be wallets, registered mints included. */
export async function findNonWallets(
  db: Db,
  addresses: readonly Address[],
): Promise<ReadonlyMap<Address, NonWallet['kind']>> {
  if (addresses.length === 0) return new Map();
  const { rows } = await selectNonWallets(sql`${addresses}::text[]`).execute(db);
  return new Map(rows.map(({ address, kind }) => [address, kind]));
}

/** Builds the statement that finds the addresses of an array that are known not to be wallets. */
export function selectNonWallets(addresses: RawBuilder<unknown>) {
  return sql<NonWallet>`
    select address, kind from non_wallets where address = any(${addresses})
    union
    select mint, 'mint' from tokens where mint = any(${addresses})
  `;
}

export async function recordNonWallets(db: Db, seen: readonly NonWallet[], now: Date): Promise<void> {
  if (seen.length === 0) return;
  // Sorted, so that two checks insert the rows in the same order.
  const rows = seen
    .map(({ address, kind }) => ({ address, kind, seen_at: now }))
    .sort((a, b) => (a.address < b.address ? -1 : 1));
  await db
    .insertInto('non_wallets')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Deletes addresses that may be wallets again, because a token account or a mint may be closed. */
export async function forgetNonWallets(db: Db, addresses: readonly Address[]): Promise<void> {
  if (addresses.length === 0) return;
  await db.deleteFrom('non_wallets').where(sql<boolean>`address = any(${addresses}::text[])`).execute();
}
