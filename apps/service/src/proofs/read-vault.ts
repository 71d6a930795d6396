import { ApiError, type PublicVault } from '@flywheel/api';
import { associatedTokenAddress, isAddress, toDecimal } from '@flywheel/protocol';

import type { Chain } from '../solana/chain.ts';
import type { TokenNames } from '../solana/token-names.ts';
import { readVaultFunds } from '../solana/vault.ts';
import type { Db } from '../store/db.ts';
import { findVaults } from '../store/projects/projects.ts';

export interface ReadVaultDeps {
  readonly db: Db;
  readonly chain: Pick<Chain, 'accounts' | 'minimumBalanceForRentExemption'>;
  readonly tokenNames: TokenNames;
}

/**
 * Reads what anyone needs for a deposit, and the vault's balances. All of it is public on chain.
 * @throws ApiError ERR_VAULT_NOT_FOUND
 */
export async function readVault({ db, chain, tokenNames }: ReadVaultDeps, address: string): Promise<PublicVault> {
  const [known] = isAddress(address) ? await findVaults(db, [address]) : [];
  if (!known) throw new ApiError('ERR_VAULT_NOT_FOUND', { address });
  const { vault, token } = known;
  const { mint, programAddress: tokenProgram, decimals } = token;
  const tokenAccount = associatedTokenAddress({ owner: vault, mint, tokenProgram });
  const [funds, names] = await Promise.all([
    readVaultFunds(chain, { vault, token, tokenAccount, recipientTokenAccounts: [] }),
    tokenNames.of([mint]),
  ]);
  return {
    address: vault,
    tokenAccount,
    mint,
    decimals,
    ...names.get(mint),
    lamports: String(funds.lamports),
    tokens: toDecimal(funds.tokenBaseUnits, decimals),
  };
}
