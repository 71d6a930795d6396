import {
  address,
  assertIsTransactionWithinSizeLimit,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  getTransactionEncoder,
  getTransactionLifetimeConstraintFromCompiledTransactionMessage,
  type TransactionModifyingSigner,
} from '@solana/kit';
import { refusal } from './decode-transaction.ts';

/** What is needed of a Wallet Standard wallet: any `Wallet` of @wallet-standard/base is one. */
export interface StandardWallet {
  readonly name: string;
  readonly features: { readonly [feature: string]: unknown };
}

export interface WalletStandardSignerOptions<Account extends { readonly address: string }> {
  readonly wallet: StandardWallet;
  /** One of the wallet’s own. */
  readonly account: Account;
  /** What the cluster is called, e.g. `solana:mainnet`. */
  readonly chain: `solana:${string}`;
}

/**
 * A signer that asks a browser’s wallet. Wallets may add guards of their own to what they sign, which the service allows
 * for; they sign, they never send.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` when the wallet cannot sign transactions.
 *
 * @example
 * const [account] = wallet.accounts;
 * const signer = walletStandardSigner({ wallet, account, chain: 'solana:mainnet' });
 */
export function walletStandardSigner<Account extends { readonly address: string }>({
  wallet,
  account,
  chain,
}: WalletStandardSignerOptions<Account>): TransactionModifyingSigner {
  const feature = wallet.features[SIGN_TRANSACTION];
  if (!isSignTransactionFeature(feature)) throw refusal(`${wallet.name} has no feature ${SIGN_TRANSACTION}.`);
  return {
    address: address(account.address),
    modifyAndSignTransactions: async (transactions) => {
      const asked = transactions.map((transaction) => new Uint8Array(getTransactionEncoder().encode(transaction)));
      const outputs = await feature.signTransaction(...asked.map((transaction) => ({ account, transaction, chain })));
      if (outputs.length !== asked.length) {
        throw refusal(`${wallet.name} signed ${outputs.length} transactions of ${asked.length}.`);
      }
      return Promise.all(outputs.map(({ signedTransaction }) => signedOf(signedTransaction)));
    },
  };
}

const SIGN_TRANSACTION = 'solana:signTransaction';

interface SignTransactionFeature {
  signTransaction(
    ...inputs: readonly { readonly account: unknown; readonly transaction: Uint8Array; readonly chain: string }[]
  ): Promise<readonly { readonly signedTransaction: Uint8Array }[]>;
}

function isSignTransactionFeature(feature: unknown): feature is SignTransactionFeature {
  return (
    typeof feature === 'object' &&
    feature !== null &&
    'signTransaction' in feature &&
    typeof feature.signTransaction === 'function'
  );
}

async function signedOf(bytes: Uint8Array) {
  const transaction = getTransactionDecoder().decode(bytes);
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
  const lifetimeConstraint = await getTransactionLifetimeConstraintFromCompiledTransactionMessage(message);
  const signed = { ...transaction, lifetimeConstraint };
  assertIsTransactionWithinSizeLimit(signed);
  return signed;
}
