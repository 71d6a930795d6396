import { writeSignInMessage } from '@flywheel/api';
import {
  generateKeyPair,
  getAddressFromPublicKey,
  getPublicKeyFromAddress,
  getTransactionDecoder,
  getTransactionEncoder,
  partiallySignTransaction,
  signBytes,
} from '@solana/kit';
import type {
  SolanaSignInMethod,
  SolanaSignMessageMethod,
  SolanaSignTransactionMethod,
} from '@solana/wallet-standard-features';
import { getWallets } from '@wallet-standard/app';
import type { WalletAccount } from '@wallet-standard/base';
import { openDatabase, resultOf } from '../indexed-db.ts';
import { LOCAL_WALLET_NAME, type SolanaWallet } from './wallets.ts';

const CHAINS = ['solana:localnet'] as const;
const FEATURES = ['solana:signIn', 'solana:signMessage', 'solana:signTransaction'] as const;
/** The Wallet Standard requires a data URL. */
const ICON =
  'data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9IjAgMCAyNCAyNCIgZmlsbD0ibm9uZSIgc3Ryb2tlPSIjNGY0NmU1IiBzdHJva2Utd2lkdGg9IjMiPjxjaXJjbGUgY3g9IjEyIiBjeT0iMTIiIHI9IjgiLz48L3N2Zz4=' as const;

/**
 * Registers a test wallet through the Wallet Standard. Its key is stored in this browser and it signs without asking, so
 * it is for the local cluster only, where it makes a browser extension unnecessary.
 * @returns unregisters the wallet.
 */
export function registerLocalWallet(): () => void {
  let accounts: readonly WalletAccount[] = [];
  const sign = async (bytes: Uint8Array) => signBytes((await openLocalKey()).privateKey, bytes);

  const signMessage: SolanaSignMessageMethod = (...inputs) =>
    Promise.all(
      inputs.map(async ({ message }) => ({ signedMessage: message, signature: new Uint8Array(await sign(message)) })),
    );

  const signIn: SolanaSignInMethod = (...inputs) =>
    Promise.all(
      inputs.map(async (parts) => {
        const [account] = await openAccounts();
        if (!account) throw new Error('The test wallet has no account.');
        const signedMessage = new TextEncoder().encode(writeSignInMessage(parts));
        return { account, signedMessage, signature: new Uint8Array(await sign(signedMessage)) };
      }),
    );

  const signTransaction: SolanaSignTransactionMethod = (...inputs) =>
    Promise.all(
      inputs.map(async ({ transaction }) => {
        const decoded = getTransactionDecoder().decode(transaction);
        const signed = await partiallySignTransaction([await openLocalKey()], decoded);
        return { signedTransaction: new Uint8Array(getTransactionEncoder().encode(signed)) };
      }),
    );

  async function openAccounts(): Promise<readonly WalletAccount[]> {
    const { publicKey } = await openLocalKey();
    const address = await getAddressFromPublicKey(publicKey);
    const publicKeyBytes = await crypto.subtle.exportKey('raw', await getPublicKeyFromAddress(address));
    accounts = [{ address, publicKey: new Uint8Array(publicKeyBytes), chains: CHAINS, features: FEATURES }];
    return accounts;
  }

  const wallet: SolanaWallet = {
    version: '1.0.0',
    name: LOCAL_WALLET_NAME,
    icon: ICON,
    chains: CHAINS,
    get accounts() {
      return accounts;
    },
    features: {
      'standard:connect': { version: '1.0.0', connect: async () => ({ accounts: await openAccounts() }) },
      'solana:signMessage': { version: '1.1.0', signMessage },
      'solana:signIn': { version: '1.0.0', signIn },
      'solana:signTransaction': { version: '1.0.0', supportedTransactionVersions: ['legacy', 0], signTransaction },
    },
  };
  return getWallets().register(wallet);
}

const DATABASE = 'flywheel-test-wallet';
const STORE = 'keys';
const KEY = 'first';

let opening: Promise<CryptoKeyPair> | null = null;

/** Returns the test wallet’s key pair, which the browser stores in a form that no script can export. */
function openLocalKey(): Promise<CryptoKeyPair> {
  opening ??= loadOrCreateKey();
  return opening;
}

async function loadOrCreateKey(): Promise<CryptoKeyPair> {
  const database = await openDatabase(DATABASE, [STORE]);
  const found: unknown = await resultOf(database.transaction(STORE).objectStore(STORE).get(KEY));
  if (isKeyPair(found)) return found;
  const created = await generateKeyPair();
  // Another tab may have stored its key first; that one stays.
  await resultOf(database.transaction(STORE, 'readwrite').objectStore(STORE).add(created, KEY)).catch(() => null);
  const stored: unknown = await resultOf(database.transaction(STORE).objectStore(STORE).get(KEY));
  if (!isKeyPair(stored))
    throw new Error('The browser did not store the test wallet’s key. Private windows may not store keys.');
  return stored;
}

function isKeyPair(value: unknown): value is CryptoKeyPair {
  return typeof value === 'object' && value !== null && 'privateKey' in value && 'publicKey' in value;
}
