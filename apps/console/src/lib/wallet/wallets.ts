import type {
  SolanaSignInFeature,
  SolanaSignMessageFeature,
  SolanaSignTransactionFeature,
} from '@solana/wallet-standard-features';
import { getWallets } from '@wallet-standard/app';
import type { Wallet, WalletAccount, WalletWithFeatures } from '@wallet-standard/base';
import type { StandardConnectFeature } from '@wallet-standard/features';
import { useSyncExternalStore } from 'react';

/** A wallet that can do what this page asks: connect, sign a transaction, sign a message one way or the other. */
export type SolanaWallet = WalletWithFeatures<
  StandardConnectFeature & SolanaSignTransactionFeature & Partial<SolanaSignInFeature & SolanaSignMessageFeature>
>;

/** The wallets that have announced themselves to this page (Wallet Standard), and keep doing so. */
export function useWallets(): readonly SolanaWallet[] {
  return useSyncExternalStore(subscribe, currentWallets);
}

/**
 * Asks a wallet for its accounts.
 * @param isSilent without a window of its own, for wallets that know this page already.
 */
export async function connect(wallet: SolanaWallet, isSilent = false): Promise<readonly WalletAccount[]> {
  const { accounts } = await wallet.features['standard:connect'].connect(isSilent ? { silent: true } : {});
  return accounts;
}

/**
 * The account of an address, of whichever wallet holds it.
 * @throws Error when no wallet of this browser offers it.
 */
export async function findAccount(
  address: string,
): Promise<{ readonly wallet: SolanaWallet; readonly account: WalletAccount }> {
  for (const isSilent of [true, false]) {
    // Asked anew: what the screens know is only kept up to date while one of them lists wallets.
    for (const wallet of wallets.get().filter(isSolanaWallet)) {
      const accounts = wallet.accounts.length > 0 ? wallet.accounts : await connect(wallet, isSilent).catch(() => []);
      const account = accounts.find((candidate) => candidate.address === address);
      if (account) return { wallet, account };
    }
  }
  throw new Error(`No wallet in this browser holds ${address}. Open the wallet that does, and try again.`);
}

const wallets = getWallets();
let known: readonly SolanaWallet[] = wallets.get().filter(isSolanaWallet);

function currentWallets(): readonly SolanaWallet[] {
  return known;
}

function subscribe(onChange: () => void): () => void {
  const update = () => {
    known = wallets.get().filter(isSolanaWallet);
    onChange();
  };
  update();
  const offs = [wallets.on('register', update), wallets.on('unregister', update)];
  return () => {
    for (const off of offs) off();
  };
}

function isSolanaWallet(wallet: Wallet): wallet is SolanaWallet {
  const can = (feature: string) => feature in wallet.features;
  return (
    wallet.chains.some((chain) => chain.startsWith('solana:')) &&
    can('standard:connect') &&
    can('solana:signTransaction') &&
    (can('solana:signIn') || can('solana:signMessage'))
  );
}

/** What people see of the wallet that this page brings itself; apart from its code, which only a local cluster loads. */
export const LOCAL_WALLET_NAME = 'Test wallet in this browser';
