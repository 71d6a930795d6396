import { walletStandardSigner } from '@flywheel/sdk';
import type { TransactionModifyingSigner } from '@solana/kit';
import { findAccount } from './wallets.ts';

/**
 * Creates a signer from the wallet in this browser that holds an address. It signs and never sends.
 * @param chain for example `solana:localnet`.
 * @throws Error when no wallet holds the address.
 */
export async function walletSigner(address: string, chain: `solana:${string}`): Promise<TransactionModifyingSigner> {
  return walletStandardSigner({ ...(await findAccount(address)), chain });
}

/**
 * Signs a text with the wallet in this browser that holds an address.
 * @param remedy says what a person does whose wallet cannot sign messages.
 * @returns the signature and the bytes that it signs: a wallet may wrap the text in an off-chain message.
 * @throws Error when no wallet holds the address, the wallet cannot sign messages, or the person declines.
 */
export async function signMessage(address: string, text: string, remedy: string) {
  const { wallet, account } = await findAccount(address);
  const feature = wallet.features['solana:signMessage'];
  if (!feature) throw new Error(`${wallet.name} cannot sign messages. ${remedy}`);
  const [output] = await feature.signMessage({ account, message: new TextEncoder().encode(text) });
  if (!output) throw new Error(`${wallet.name} returned no signature.`);
  return output;
}
