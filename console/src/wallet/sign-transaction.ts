import { getBase64Decoder, getBase64Encoder } from '@solana/kit';
import { findAccount } from './wallets.ts';

export interface TransactionToSign {
  /** Who is to sign. */
  readonly address: string;
  /** Base64. */
  readonly transaction: string;
  /** E.g. `solana:localnet`. */
  readonly chain: `${string}:${string}`;
}

/**
 * Has a transaction signed by the wallet that holds an address. Signed, not sent: the service adds what is missing.
 * @returns base64
 * @throws Error when no wallet holds the address, or the wallet refuses.
 */
export async function signTransaction({ address, transaction, chain }: TransactionToSign): Promise<string> {
  const { wallet, account } = await findAccount(address);
  const bytes = new Uint8Array(getBase64Encoder().encode(transaction));
  const [output] = await wallet.features['solana:signTransaction'].signTransaction({
    account,
    transaction: bytes,
    chain,
  });
  if (!output) throw new Error(`${wallet.name} signed nothing.`);
  return getBase64Decoder().decode(output.signedTransaction);
}
