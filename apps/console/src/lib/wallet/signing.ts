import { walletStandardSigner } from '@flywheel/sdk';
import { getBase58Decoder, type TransactionModifyingSigner } from '@solana/kit';
import { findAccount } from './wallets.ts';

/**
 * A signer that asks whichever wallet of this browser holds an address. It signs, it never sends.
 * @param chain e.g. `solana:localnet`.
 * @throws Error when no wallet holds the address.
 */
export async function walletSigner(address: string, chain: `solana:${string}`): Promise<TransactionModifyingSigner> {
  return walletStandardSigner({ ...(await findAccount(address)), chain });
}

/**
 * Has a text signed by the wallet of this browser that holds an address.
 * @returns the signature, base58
 * @throws Error when no wallet holds the address, or it signs no texts, or refuses.
 */
export async function signMessage(address: string, text: string): Promise<string> {
  const { wallet, account } = await findAccount(address);
  const feature = wallet.features['solana:signMessage'];
  if (!feature) throw new Error(`${wallet.name} signs no messages. Sign the text elsewhere and paste the signature.`);
  const [output] = await feature.signMessage({ account, message: new TextEncoder().encode(text) });
  if (!output) throw new Error(`${wallet.name} gave no signature.`);
  return getBase58Decoder().decode(output.signature);
}
