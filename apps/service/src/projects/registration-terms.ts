import { decodeProgramConfig, programConfigAddress } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import type { Chain } from '../solana/chain.ts';

export interface RegistrationTerms {
  /** Who takes the fee for creating a multisig. */
  readonly treasury: Address;
  /** What a registration costs its wallet: rent, fees, and what Squads asks. */
  readonly costLamports: bigint;
}

/** @throws Error where the Squads program is not on the cluster. */
export async function readRegistrationTerms(
  chain: Pick<Chain, 'accounts' | 'minimumBalanceForRentExemption'>,
): Promise<RegistrationTerms> {
  const configAddress = await programConfigAddress();
  const [[config], ...rents] = await Promise.all([
    chain.accounts([configAddress]),
    chain.minimumBalanceForRentExemption(MULTISIG_BYTES),
    chain.minimumBalanceForRentExemption(LOOKUP_TABLE_BYTES),
  ]);
  if (!config) throw new Error(`The Squads program’s account ${configAddress} is not on this cluster.`);
  const { treasury, multisigCreationFee } = decodeProgramConfig(config);
  const rentLamports = rents.reduce((sum, lamports) => sum + lamports, 0n);
  return {
    treasury,
    costLamports: rentLamports + multisigCreationFee + SIGNATURES * LAMPORTS_PER_SIGNATURE,
  };
}

/** Squads’ Multisig: 132 bytes and 33 for each of three members. */
const MULTISIG_BYTES = 132 + 3 * 33;
/** A lookup table’s header, and 32 bytes for each of the addresses that `lookupTableAddresses` names. */
const LOOKUP_TABLE_BYTES = 56 + 9 * 32;
/** The wallet and the throwaway key. */
const SIGNATURES = 2n;
const LAMPORTS_PER_SIGNATURE = 5_000n;
