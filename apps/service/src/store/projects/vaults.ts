import type { Address } from '@solana/kit';
import type { Token } from '../../model/project.ts';
import type { Db } from '../db.ts';

export interface KnownVault {
  readonly vault: Address;
  readonly token: Token;
}

/** Those of the addresses that are vaults of projects, whatever has become of these; with the token of today first. */
export async function findVaults(db: Db, addresses: readonly Address[]): Promise<KnownVault[]> {
  if (addresses.length === 0) return [];
  const rows = await db
    .selectFrom('flywheels')
    .innerJoin('tokens', 'tokens.project_id', 'flywheels.project_id')
    .select(['flywheels.vault', 'tokens.id', 'tokens.mint', 'tokens.decimals', 'tokens.program_address'])
    .where('flywheels.vault', 'in', [...addresses])
    .orderBy((eb) => eb('tokens.archived_at', 'is', null), 'desc')
    .execute();
  return rows.map(({ vault, id, mint, decimals, program_address }) => ({
    vault,
    token: { id, mint, decimals, programAddress: program_address },
  }));
}
