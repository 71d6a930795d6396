import { walletStandardSigner } from '@flywheel/sdk';
import type { TransactionModifyingSigner } from '@solana/kit';
import { findAccount } from './wallets.ts';

/**
 * A signer that asks whichever wallet of this browser holds an address. It signs, it never sends.
 * @param chain e.g. `solana:localnet`.
 * @throws Error when no wallet holds the address.
 */
export async function walletSigner(address: string, chain: `solana:${string}`): Promise<TransactionModifyingSigner> {
  return walletStandardSigner({ ...(await findAccount(address)), chain });
}
