import type {
  SolanaSignInFeature,
  SolanaSignMessageFeature,
  SolanaSignTransactionFeature,
} from '@solana/wallet-standard-features';
import { getWallets } from '@wallet-standard/app';
import type { Wallet, WalletAccount, WalletWithFeatures } from '@wallet-standard/base';
import type { StandardConnectFeature } from '@wallet-standard/features';
import { useSyncExternalStore } from 'react';

/** A wallet with the features that this page needs: connect, sign transactions, sign in or sign messages. */
export type SolanaWallet = WalletWithFeatures<
  StandardConnectFeature & SolanaSignTransactionFeature & Partial<SolanaSignInFeature & SolanaSignMessageFeature>
>;

/** Returns the wallets registered through the Wallet Standard, and updates when the list changes. */
export function useWallets(): readonly SolanaWallet[] {
  return useSyncExternalStore(subscribe, currentWallets);
}

/**
 * Connects to a wallet and returns its accounts.
 * @param isSilent connects only if the wallet needs no window for it, because it knows this page.
 */
export async function connect(wallet: SolanaWallet, isSilent = false): Promise<readonly WalletAccount[]> {
  const { accounts } = await wallet.features['standard:connect'].connect(isSilent ? { silent: true } : {});
  return accounts;
}

/** A wallet answers at once without its person, if it may. */
const SILENT_ANSWER_MS = 3_000;

/** An account, and the wallet that signs for it. */
export interface FoundAccount {
  readonly wallet: SolanaWallet;
  readonly account: WalletAccount;
}

/**
 * Finds the wallet and account of an address.
 * @throws Error when no wallet in this browser has it.
 */
export async function findAccount(address: string): Promise<FoundAccount> {
  // Reads the registry itself: `known` is up to date only while a screen lists wallets.
  const all = wallets.get().filter(isSolanaWallet);
  const pick = (wallet: SolanaWallet, accounts: readonly WalletAccount[]): FoundAccount | null => {
    const account = accounts.find((candidate) => candidate.address === address);
    return account === undefined ? null : { wallet, account };
  };
  for (const wallet of all) {
    const connected = pick(wallet, wallet.accounts);
    if (connected) return connected;
  }
  const isUnconnected = ({ accounts }: SolanaWallet) => accounts.length === 0;
  // All at once: one that never answers must not keep the page from the one that holds the address.
  const silent = all.filter(isUnconnected).map(async (wallet) => {
    const found = pick(wallet, await connect(wallet, true));
    if (found) return found;
    throw new Error(`${wallet.name} does not hold it.`);
  });
  const late = new Promise<null>((resolve) => setTimeout(resolve, SILENT_ANSWER_MS, null));
  const allowed = await Promise.race([Promise.any(silent).catch(() => null), late]);
  if (allowed) return allowed;
  // One after the other, because each opens a window.
  for (const wallet of all.filter(isUnconnected)) {
    const chosen = pick(wallet, await connect(wallet).catch(() => []));
    if (chosen) return chosen;
  }
  throw new Error(`No wallet in this browser holds ${address}. Open the wallet that does, then retry.`);
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

/** Name of the test wallet. It stands here because only a local cluster loads the wallet’s code. */
export const LOCAL_WALLET_NAME = 'Test wallet in this browser';
